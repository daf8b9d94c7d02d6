//! A policy of your own, run by Destage's engine beside a built-in one: `own-policy TRACE FRAMES`.

use destage_core::{DeviceView, Lookup, Page, Plan, Policy, Request, Slot};
use destage_engine::run::{Named, RunOptions, run, run_own};
use destage_engine::{sizes::Frames, spec::PolicySpec};
use destage_replay::{control::Control, input::Input, observe::Unobserved};
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, open_trace};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::error::Error;

/// Evicts the page that came first.
struct MyFifo {
    frames: u32,
    queue: VecDeque<Page>,
    dirty: HashMap<Page, bool>, // every resident page
}

impl Policy for MyFifo {
    type Miss = ();
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(dirty) = self.dirty.get_mut(&r.page) else { return Lookup::Miss(()) };
        *dirty |= r.op.is_write();
        Lookup::Hit(Slot(r.page.0 as u32)) // pages of a run are numbered from 0
    }
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.queue.pop_front().expect("evict is only called on a full cache");
        plan.evict(victim, self.dirty.remove(&victim) == Some(true));
    }
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.queue.push_back(r.page);
        self.dirty.insert(r.page, r.op.is_write());
        Slot(r.page.0 as u32)
    }
    fn frames(&self) -> u32 {
        self.frames
    }
    fn resident(&self) -> u32 {
        self.queue.len() as u32
    }
    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.queue.iter().for_each(|page| visit(*page, self.dirty[page]));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(given)) = (words.next(), words.next()) else {
        return Err("usage: own-policy TRACE FRAMES".into());
    };
    let (reader, decode) = (ReaderOptions::default(), DecodeOptions::default());
    let trace = open_trace(&[path.into()], &reader, &decode, &CacheOptions::off(), &mut NoHooks)?;
    let input = Input::new(&trace, None);
    let size = Frames { frames: given.parse()?, given: format!("{given}p") };
    let (options, control) = (RunOptions::default(), Control::default());
    let mine = MyFifo { frames: size.frames, queue: VecDeque::new(), dirty: HashMap::new() };
    let named = Named { policy: "my-fifo".into(), given: BTreeMap::new(), params: BTreeMap::new() };
    let mine = run_own(&input, named, mine, &size, &options, &control, &mut Unobserved)?;
    let fifo = &PolicySpec::parse_list("fifo")?[0];
    let built_in = run(&input, fifo, &size, &options, &control, &mut Unobserved)?;
    for (name, found) in [("my-fifo", mine), ("fifo", built_in)] {
        println!("{name} {} {}", found.counters.hits(), found.counters.physical_writes);
    }
    Ok(())
}
