//! The kube-rs side of bench/peers: a reflector with its store on one kind. Its words are in ../../README.md.
//!
//!     kube-rs --kubeconfig F --kind pods|workloads|workloads-dynamic [--strip]
//!
//! kube-rs has no protobuf: everything is JSON. `kube-rs reconcile` is in reconcile.rs.
mod reconcile;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};
use k8s_openapi::NamespaceResourceScope;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};

// The custom resource with a pod's payload. By hand, as the derive macro wants the spec as a struct of its own here.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Workload {
    metadata: ObjectMeta,
    spec: PodSpec,
    #[serde(default)]
    status: Option<PodStatus>,
}

impl Resource for Workload {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Workload".into()
    }
    fn group(_: &()) -> Cow<'_, str> {
        "bench.example.com".into()
    }
    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural(_: &()) -> Cow<'_, str> {
        "workloads".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

fn cpu_seconds() -> f64 {
    // SAFETY: getrusage fills the struct that it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn monotonic_ns() -> u64 {
    // SAFETY: as above.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

// Bytes, of /proc/self/status.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[derive(Default)]
struct Seen {
    objects: AtomicU64,
    updates: AtomicU64,
    // Version and time of each update.
    times: Mutex<Vec<(u64, u64)>>,
}

async fn run<K>(api: Api<K>, strip: bool, start: u64) -> Result<(), Box<dyn std::error::Error>>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Clone + Eq + Hash,
{
    run_with(api, K::DynamicType::default(), strip, start).await
}

async fn run_with<K>(api: Api<K>, kind: K::DynamicType, strip: bool, start: u64) -> Result<(), Box<dyn std::error::Error>>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + Hash,
{
    let writer = reflector::store::Writer::<K>::new(kind);
    let store = writer.as_reader();
    let seen = Arc::new(Seen::default());
    let (synced_send, synced) = tokio::sync::oneshot::channel();
    let events = watcher(api, watcher::Config::default().streaming_lists()).default_backoff();
    let handler = {
        let seen = seen.clone();
        let mut synced_send = Some(synced_send);
        move |event: Result<Event<K>, watcher::Error>| {
            match event {
                Ok(Event::InitApply(_)) => {
                    seen.objects.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Event::InitDone) => {
                    if let Some(send) = synced_send.take() {
                        send.send(()).ok();
                    }
                }
                Ok(Event::Apply(object)) => {
                    let version = object.resource_version().and_then(|v| v.parse().ok()).unwrap_or(0);
                    seen.times.lock().unwrap().push((version, monotonic_ns()));
                    seen.updates.fetch_add(1, Ordering::Release);
                }
                Ok(_) => {}
                Err(error) => eprintln!("kube-rs: {error}"),
            }
            futures::future::ready(())
        }
    };
    if strip {
        let events = events.modify(|object: &mut K| object.meta_mut().managed_fields = None);
        tokio::spawn(reflector(writer, events).for_each(handler));
    } else {
        tokio::spawn(reflector(writer, events).for_each(handler));
    }
    synced.await?;
    println!(
        r#"{{"phase":"synced","objects":{},"cached":{},"wall":{:.6},"cpu":{:.6},"rss":{},"peak":{}}}"#,
        seen.objects.load(Ordering::Relaxed),
        store.len(),
        (monotonic_ns() - start) as f64 / 1e9,
        cpu_seconds(),
        memory("VmRSS:"),
        memory("VmHWM:")
    );

    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut cpu = cpu_seconds();
    while let Some(line) = lines.next_line().await? {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["memory"] => println!(r#"{{"phase":"memory","rss":{},"peak":{}}}"#, memory("VmRSS:"), memory("VmHWM:")),
            ["begin"] => {
                seen.times.lock().unwrap().clear();
                seen.updates.store(0, Ordering::Release);
                cpu = cpu_seconds();
                println!(r#"{{"phase":"begin"}}"#);
            }
            ["end", count, file] => {
                let count: u64 = count.parse()?;
                let deadline = monotonic_ns() + 60_000_000_000;
                while seen.updates.load(Ordering::Acquire) < count && monotonic_ns() < deadline {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let used = cpu_seconds() - cpu;
                let updates = seen.updates.load(Ordering::Acquire);
                let text: String = seen.times.lock().unwrap().iter().map(|(v, t)| format!("{v} {t}\n")).collect();
                std::fs::write(file, text)?;
                println!(r#"{{"phase":"end","updates":{updates},"cpu":{used:.6},"rss":{},"peak":{}}}"#, memory("VmRSS:"), memory("VmHWM:"));
            }
            _ => return Err(format!("what is {line:?}?").into()),
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = monotonic_ns();
    let mut flags = HashMap::new();
    let mut strip = false;
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if_eq("reconcile").is_some() {
        return reconcile::run(args).await;
    }
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--strip" => strip = true,
            "--kubeconfig" | "--kind" | "--encoding" => {
                flags.insert(arg, args.next().ok_or("a flag without its value")?);
            }
            _ => return Err("usage: kube-rs --kubeconfig F --kind pods|workloads|workloads-dynamic [--strip]".into()),
        }
    }
    let flag = |name: &str| flags.get(name).cloned().ok_or(format!("{name} is missing"));
    let kubeconfig = Kubeconfig::read_from(flag("--kubeconfig")?)?;
    let client = Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)?;
    match flag("--kind")?.as_str() {
        "pods" => run(Api::<Pod>::all(client), strip, start).await,
        "workloads" => run(Api::<Workload>::all(client), strip, start).await,
        "workloads-dynamic" => {
            let kind = ApiResource::erase::<Workload>(&());
            run_with(Api::<DynamicObject>::all_with(client, &kind), kind, strip, start).await
        }
        other => Err(format!("no kind {other}").into()),
    }
}
