/** Segments of a path in lower case: a name, `*` for any name, `?` for the letter of a drive. */
export type Place = readonly string[]

/** The directory of one user each. */
export const HOMES: readonly Place[] = [
  'root',
  'home/*',
  'users/*',
  'var/home/*',
  'var/root',
  'export/home/*',
].map(segmentsOfPlace)

/** Places where the root of a system is too: those of macOS, and drives of Windows. */
export const OTHER_ROOTS: readonly Place[] = [
  'private',
  'system/volumes/data',
  'volumes/*',
  '?',
  'mnt/?',
  'cygdrive/?',
].map(segmentsOfPlace)

/** Tells whether a segment in lower case has a name of a place. */
export function isNamed(segment: string, name: string): boolean {
  if (name === '?') return /^[a-z]:?$/.test(segment)
  return name === '*' || segment === name
}

/** Tells whether a place holds a path of these segments, or is it. */
export function isInPlace(segments: readonly string[], place: Place): boolean {
  return (
    segments.length >= place.length &&
    place.every((name, index) => isNamed(segments[index] ?? '', name))
  )
}

function segmentsOfPlace(text: string): Place {
  return text.split('/')
}
