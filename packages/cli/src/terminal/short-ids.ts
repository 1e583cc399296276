/** Shown characters of an id at least. */
const LEAST = 8

/**
 * Shortens ids to beginnings that name them in a command, all of one length. `--wide` has whole
 * ids.
 */
export function createShortIds(ids: readonly string[], isWide: boolean): (id: string) => string {
  const all = [...new Set(ids)].toSorted()
  let length = LEAST
  for (const [index, id] of all.entries()) {
    const next = all[index + 1] ?? ''
    while (length < id.length && next.startsWith(id.slice(0, length))) length += 1
  }
  return (id) => (isWide || id.length <= length + 1 ? id : `${id.slice(0, length)}…`)
}
