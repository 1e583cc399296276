/** Gathers an option that may be repeated; each use may also hold a comma-separated list. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(',').map((part) => part.trim())]
}
