/** Where the worker that compiles policies is. */
export function policyWorkerFile(): URL {
  return workerFile('policy-worker')
}

/** Where the worker that copies the log of SQLite is. */
export function checkpointWorkerFile(): URL {
  return workerFile('checkpoint-worker')
}

/** Beside this file as it is run, or in its own bundle. */
function workerFile(name: string): URL {
  const here = import.meta.url
  const extension = here.slice(here.lastIndexOf('.'))
  return new URL(`./${extension === '.cjs' ? 'palisade-' : ''}${name}${extension}`, here)
}
