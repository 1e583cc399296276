/** Where the worker that compiles policies is. */
export function policyWorkerFile(): URL {
  return workerFile('policy-worker')
}

/** Where the worker that copies the log of SQLite is. */
export function checkpointWorkerFile(): URL {
  return workerFile('checkpoint-worker')
}

/** Where the worker that stores decision records is. */
export function ingestWorkerFile(): URL {
  return workerFile('ingest-worker')
}

/** Where the worker that decides recorded requests anew is. */
export function replayWorkerFile(): URL {
  return workerFile('replay-worker')
}

/** Where the worker that suggests policies is. */
export function suggestWorkerFile(): URL {
  return workerFile('suggest-worker')
}

/** At the root of the sources or of their compiled form; a bundle is beside the other bundles. */
function workerFile(name: string): URL {
  const here = import.meta.url
  const extension = here.slice(here.lastIndexOf('.'))
  const folder = extension === '.cjs' ? './palisade-' : '../'
  return new URL(`${folder}${name}${extension}`, here)
}
