/** Takes everything that nobody holds; what is held is no longer young. Needs `--expose-gc`. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined)
    throw new Error('garbage cannot be collected; start node with `--expose-gc`')
  globalThis.gc()
}
