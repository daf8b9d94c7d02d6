//! A policy written in Python behind calls of any thread, for what is live: a server, or
//! `destage.Cache`.
//!
//! The policy and its lists belong to one thread, which this makes. Each call is handed to it and
//! waited for, so the policy sees one call at a time, in their order. It is always checked; after
//! an exception or a violation it is out of service: no page is resident and every access is a
//! bypass.

use crate::errors::{raise, usage};
use crate::policy::{Failure, PyPolicy};
use destage_core::{DeviceView, Lookup, Page, Part, Plan, Policy, Request, Requirements, Slot};
use destage_engine::checked::Checked;
use destage_replay::error::RunError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Accesses between two looks at the whole content of the policy.
const CHECK_EVERY: u64 = 1024;
/// Bytes of the thread's stack: Python code runs on it.
const STACK_BYTES: usize = 8 << 20;

/// Maker of a policy.
pub struct OwnFactory {
    /// Called with the frames and the pages of an erase block.
    pub make: Py<PyAny>,
    /// The policy as errors call it.
    pub name: String,
}

impl OwnFactory {
    /// The maker for a class, or the name of one in a file; `None` for anything else.
    pub fn of(py: Python<'_>, policy: &Bound<'_, PyAny>) -> PyResult<Option<OwnFactory>> {
        let own = py.import("destage.lab.policy_base")?.getattr("live_policy")?.call1((policy,))?;
        if own.is_none() {
            return Ok(None);
        }
        let (make, name) = (own.getattr("make")?.unbind(), own.getattr("name")?.extract()?);
        Ok(Some(OwnFactory { make, name }))
    }
}

/// The exception that ended a policy's work, if one did.
#[derive(Default)]
pub struct Fault {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Fault {
    /// The exception, once.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: PyErr) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.is_set.store(true, SeqCst);
    }
}

enum Call {
    Request(Request),
    Evict(Plan),
    Admit(Request),
    Forget(Page),
    Residents,
    Lists,
}

enum Answer {
    Found(Lookup<()>),
    Planned(Plan),
    Admitted(Slot),
    Forgotten(Option<bool>),
    Residents(Vec<(Page, bool)>),
    Lists(Vec<(&'static str, Part)>),
}

/// The policy, as one of any thread.
pub struct PolicyThread {
    calls: Sender<Call>,
    answers: Mutex<Receiver<(Answer, u32)>>,
    frames: u32,
    resident: u32,
    forgets: bool,
    /// Its callers hold the interpreter, which the policy needs.
    in_python: bool,
    fault: Arc<Fault>,
}

impl PolicyThread {
    /// Makes the policy on a thread of its own; `in_python`: the calls come from Python.
    pub fn start(
        py: Python<'_>,
        factory: &OwnFactory,
        frames: u32,
        pages_per_block: u32,
        in_python: bool,
    ) -> PyResult<(PolicyThread, Arc<Fault>)> {
        let (calls, called) = channel();
        let (answer, answers) = channel();
        let (made, is_made) = channel();
        let fault = Arc::new(Fault::default());
        let make = factory.make.clone_ref(py);
        let (name, set) = (factory.name.clone(), Arc::clone(&fault));
        let run = move || {
            let failure = Failure::default();
            let policy = Python::attach(|py| {
                let (name, kept) = (Some(name.as_str()), failure.clone());
                let made =
                    PyPolicy::make(py, &make, name, frames, pages_per_block, None, false, kept);
                drop(make);
                made
            });
            match policy {
                Ok(policy) => {
                    _ = made.send(Ok(policy.forgets()));
                    let policy = Checked::new(policy, CHECK_EVERY);
                    Owner { policy, miss: None, name, failure, fault: set }
                        .answer(&called, &answer);
                }
                Err(error) => _ = made.send(Err(error)),
            }
        };
        let builder = thread::Builder::new().name("destage-policy".to_string());
        let wrong =
            |error| usage(py, format!("policy {}: no thread for it: {error}", factory.name));
        builder.stack_size(STACK_BYTES).spawn(run).map_err(wrong)?;
        let is_made = Mutex::new(is_made);
        let forgets = py.detach(|| received(&is_made)).expect("the thread answers once")?;
        let answers = Mutex::new(answers);
        let shared = Arc::clone(&fault);
        let policy =
            PolicyThread { calls, answers, frames, resident: 0, forgets, in_python, fault };
        Ok((policy, shared))
    }

    /// The answer to a call, and the resident pages; `None` once the policy is out of service.
    fn ask(&self, call: Call) -> Option<(Answer, u32)> {
        if self.fault.is_set.load(SeqCst) {
            return None;
        }
        self.calls.send(call).ok()?;
        match self.in_python {
            true => Python::attach(|py| py.detach(|| received(&self.answers))),
            false => received(&self.answers),
        }
    }

    /// The same of a call that changes what is resident.
    fn change(&mut self, call: Call) -> Option<Answer> {
        let answered = self.ask(call);
        self.resident = answered.as_ref().map_or(0, |answered| answered.1);
        answered.map(|answered| answered.0)
    }
}

fn received<T>(from: &Mutex<Receiver<T>>) -> Option<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Policy for PolicyThread {
    type Miss = ();

    fn requirements(&self) -> Requirements {
        Requirements::NONE
    }

    /// Whether the policy does is checked where it lives; one that is out of service does.
    fn writes_through(&self) -> bool {
        true
    }

    fn request(&mut self, r: &Request) -> Lookup<()> {
        match self.change(Call::Request(*r)) {
            Some(Answer::Found(found)) => found,
            _ => Lookup::Bypass,
        }
    }

    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        if let Some(Answer::Planned(planned)) = self.change(Call::Evict(std::mem::take(plan))) {
            *plan = planned;
        }
    }

    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        match self.change(Call::Admit(*r)) {
            Some(Answer::Admitted(slot)) => slot,
            _ => Slot(0),
        }
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    fn resident(&self) -> u32 {
        self.resident
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        if let Some((Answer::Residents(pages), _)) = self.ask(Call::Residents) {
            pages.into_iter().for_each(|(page, dirty)| visit(page, dirty));
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        match self.change(Call::Forget(page)) {
            Some(Answer::Forgotten(dropped)) => dropped,
            _ => None,
        }
    }

    fn forgets(&self) -> bool {
        self.forgets
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        match self.ask(Call::Lists) {
            Some((Answer::Lists(lists), _)) => lists,
            _ => Vec::new(),
        }
    }
}

/// The policy where it lives.
struct Owner {
    policy: Checked<PyPolicy>,
    miss: Option<Option<Py<PyAny>>>,
    name: String,
    failure: Failure,
    fault: Arc<Fault>,
}

impl Owner {
    /// Answers calls until there are no further ones.
    fn answer(mut self, calls: &Receiver<Call>, answers: &Sender<(Answer, u32)>) {
        while let Ok(call) = calls.recv() {
            let answer = self.one(call);
            self.look();
            if answers.send((answer, self.policy.resident())).is_err() {
                break;
            }
        }
        // Its objects are of this thread; at the end of the interpreter there are none to drop.
        let mut policy = Some(self);
        Python::try_attach(|_| drop(policy.take()));
        std::mem::forget(policy);
    }

    fn one(&mut self, call: Call) -> Answer {
        match call {
            Call::Request(r) => Answer::Found(match self.policy.request(&r) {
                Lookup::Hit(slot) => Lookup::Hit(slot),
                Lookup::Miss(miss) => {
                    self.miss = Some(miss);
                    Lookup::Miss(())
                }
                Lookup::Bypass => Lookup::Bypass,
            }),
            Call::Evict(mut plan) => {
                let miss = self.miss.as_mut().expect("a page missed before one is evicted");
                self.policy.evict(miss, &destage_core::Blind, &mut plan);
                Answer::Planned(plan)
            }
            Call::Admit(r) => {
                let miss = self.miss.take().expect("a page missed before it is admitted");
                Answer::Admitted(self.policy.admit(&r, miss))
            }
            Call::Forget(page) => Answer::Forgotten(self.policy.forget(page)),
            Call::Residents => {
                let mut pages = Vec::new();
                self.policy.for_each_resident(&mut |page, dirty| pages.push((page, dirty)));
                Answer::Residents(pages)
            }
            Call::Lists => Answer::Lists(self.policy.policy().lists()),
        }
    }

    /// Keeps the fault of the last call, if there was one.
    fn look(&self) {
        if let Some(error) = self.failure.take() {
            self.fault.set(error);
        } else if let Some(violation) = self.policy.violation()
            && !self.fault.is_set.load(SeqCst)
        {
            let broken = RunError::Broken(format!("{}: {violation}", self.name));
            if let Err(error) = Python::attach(|py| raise::<(), _>(py, Err(broken))) {
                self.fault.set(error);
            }
        }
    }
}
