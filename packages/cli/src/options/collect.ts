/** Collects a repeatable option; each use may also be a comma-separated list. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(',').map((part) => part.trim())]
}
