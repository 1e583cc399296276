/** Where the worker that compiles policies is: beside this file as it is run, or in its own bundle. */
export function policyWorkerFile(): URL {
  const here = import.meta.url
  const extension = here.slice(here.lastIndexOf('.'))
  const name = extension === '.cjs' ? 'palisade-policy-worker' : 'policy-worker'
  return new URL(`./${name}${extension}`, here)
}
