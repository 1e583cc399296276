/**
 * Collects all unreachable objects and promotes the others to the old generation. Needs
 * `--expose-gc`.
 */
export function collectGarbage(): void {
  if (globalThis.gc === undefined)
    throw new Error('garbage cannot be collected; start node with `--expose-gc`')
  globalThis.gc()
}
