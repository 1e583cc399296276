import type { LabelledGlob } from './pattern-labels.ts'

/** Globs that are tried one after the other: cutting a name out of its path costs as much. */
export const MAX_TRIED = 8
/** Shared, because thousands of states have none. */
const NO_GLOBS: readonly LabelledGlob[] = []

/**
 * The globs, when they are few and have one `*` each, as nearly all in policies do: `*.pem`,
 * `app-*`. Null when they cannot be tried in turn.
 */
export function simpleGlobs(globs: readonly LabelledGlob[] | null): readonly LabelledGlob[] | null {
  if (globs === null || globs.some(({ pieces }) => pieces.length !== 2)) return null
  return globs.length === 0 ? NO_GLOBS : globs
}

/** Which of the globs match the name that stands there: a bit for each. */
export function matchSimpleGlobs(
  globs: readonly LabelledGlob[],
  path: string,
  from: number,
  to: number,
): number {
  let bits = 0
  for (let index = 0; index < globs.length; index += 1) {
    const { pieces } = globs[index]!
    const start = pieces[0]!
    const end = pieces[1]!
    if (
      to - from >= start.length + end.length &&
      standsAt(path, end, to - end.length) &&
      standsAt(path, start, from)
    )
      bits |= 1 << index
  }
  return bits
}

/** Whether the text stands in the path there. Faster than `startsWith` for texts as short. */
export function standsAt(path: string, text: string, at: number): boolean {
  for (let index = text.length - 1; index >= 0; index -= 1) {
    if (path.charCodeAt(at + index) !== text.charCodeAt(index)) return false
  }
  return true
}
