import type { LabelledGlob } from './pattern-labels.ts'

/** Globs that are tried one after the other: cutting a name out of its path costs as much. */
export const MAX_TRIED = 8
/** Shared by the thousands of states without globs. */
const NO_GLOBS: readonly LabelledGlob[] = []

/**
 * The globs if they are few and have one `*` each, such as `*.pem` and `app-*`, which is the common
 * case. Null when they cannot be tried in turn.
 */
export function simpleGlobs(globs: readonly LabelledGlob[] | null): readonly LabelledGlob[] | null {
  if (globs === null || globs.some(({ pieces }) => pieces.length !== 2)) return null
  return globs.length === 0 ? NO_GLOBS : globs
}

/** Bits of the globs that match the name at this position. */
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

/** Whether the path has the text at this position. Faster than `startsWith` for short texts. */
export function standsAt(path: string, text: string, at: number): boolean {
  for (let index = text.length - 1; index >= 0; index -= 1) {
    if (path.charCodeAt(at + index) !== text.charCodeAt(index)) return false
  }
  return true
}
