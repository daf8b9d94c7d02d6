//! Surrogate traces: generated once, placed and opened for each drive.

use crate::errors::{raise, usage};
use crate::interruptible::{Watch, follow};
use crate::trace::{Trace, decode_options, decoded_with};
use destage_synth::surrogate::{
    Channels, Placement, Recipe, SurrogateSource, SurrogateTrace, generate, place,
};
use destage_trace::decode_records;
use pyo3::prelude::*;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// How channels are loaded, and where everything lies then.
type Place = (Option<Channels>, Arc<Placement>);

/// A load without addresses.
#[pyclass(frozen, module = "destage._destage")]
pub struct StandIn {
    drawn: Arc<SurrogateTrace>,
    seed: u64,
    /// Placement once for all rates, and for all drives of the same channels.
    placed: Mutex<Vec<Place>>,
}

impl StandIn {
    fn placed(&self, channels: Option<Channels>) -> Arc<Placement> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = placed.iter().find(|(on, _)| *on == channels) {
            return found.clone();
        }
        let new = Arc::new(place(&self.drawn, self.seed, channels));
        placed.push((channels, new.clone()));
        new
    }
}

#[pymethods]
impl StandIn {
    /// How many requests it has.
    fn __len__(&self) -> usize {
        self.drawn.requests.len()
    }

    /// Places it, for the channels of a drive (count, pages of a stretch, deviation of all reads,
    /// deviation of those that miss in a cache, pages of this cache) or as it comes, and decodes
    /// it; also returns notes.
    #[pyo3(signature = (channels, intensity, page_size, progress = None))]
    fn open(
        &self,
        py: Python<'_>,
        channels: Option<(u64, u64, f64, f64, u64)>,
        intensity: f64,
        page_size: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Trace, Vec<String>)> {
        if !(intensity > 0.0 && intensity.is_finite()) {
            let text = format!("intensity: expected a number above 0, found {intensity}");
            return Err(usage(py, text));
        }
        let channels =
            channels.map(|(count, stretch_pages, deviation, missed_deviation, cache_pages)| {
                Channels { count, stretch_pages, deviation, missed_deviation, cache_pages }
            });
        if channels.is_some_and(|on| on.count == 0 || on.stretch_pages == 0) {
            return Err(usage(py, "channels: expected at least one, of at least one page"));
        }
        let mut decode = decode_options(py, page_size, None, None)?;
        decode.page_bytes.get_or_insert(self.drawn.recipe.page_bytes);
        let watch = Watch::default();
        let opened = follow(py, progress.as_ref(), &watch, |mut watch| {
            let placed = self.placed(channels);
            let mut source = SurrogateSource::new(&self.drawn, &placed, intensity);
            decode_records(&mut source, "stand-in", &decode, &mut watch)
        })?;
        let trace = raise(py, opened)?;
        let made = json!({ "recipe": self.drawn.recipe, "seed": self.seed });
        let options = decoded_with(json!({ "stand_in": made }), &trace, &decode);
        Ok((Trace { trace, sources: vec!["stand-in".into()], options }, watch.take_notes()))
    }
}

/// Draws a load from its recipe, which is JSON.
#[pyfunction]
#[pyo3(signature = (recipe, seed, progress = None))]
pub fn draw_standin(
    py: Python<'_>,
    recipe: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<StandIn> {
    let recipe: Recipe =
        serde_json::from_str(recipe).map_err(|e| usage(py, format!("a stand-in's recipe: {e}")))?;
    let watch = Watch::default();
    let drawn =
        follow(py, progress.as_ref(), &watch, |mut watch| generate(&recipe, seed, &mut watch))?;
    Ok(StandIn { drawn: raise(py, drawn)?, seed, placed: Mutex::default() })
}
