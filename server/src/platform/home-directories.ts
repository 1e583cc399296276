/** Segments of a folded path: a name, `*` for any name, `?` for the letter of a drive. */
export type Place = readonly string[]

/** The directory of one user each. */
export const HOMES: readonly Place[] = [
  'root',
  'home/*',
  'users/*',
  'var/home/*',
  'var/root',
  'var/roothome',
  'export/home/*',
].map(segmentsOfPlace)

/**
 * Places where the root of a system is too: those of macOS, drives of Windows, and those of a host
 * with images of its system, below a container, or in a changed root. Places that hold others come
 * last.
 */
export const OTHER_ROOTS: readonly Place[] = [
  'private',
  'system/volumes/data',
  'volumes/*',
  '?',
  'mnt/?',
  'cygdrive/?',
  'run/host',
  'mnt/host',
  'mnt/sysimage',
  'host',
  'hostfs',
  'rootfs',
  'chroot/*',
  'chroots/*',
  'var/chroot/*',
  'sysroot/ostree/deploy/*',
  'sysroot',
].map(segmentsOfPlace)

/**
 * Directories of names for any file: `/proc/self/root` is another name of `/`, and there are such
 * of every open file. macOS has names by number, and names that follow links otherwise.
 */
export const OTHER_NAMES: readonly Place[] = ['dev/fd', '.vol', '.nofollow', '.resolve'].map(
  segmentsOfPlace,
)

/** Tells whether a segment of a folded path has a name of a place. */
export function isNamed(segment: string, name: string): boolean {
  if (name === '?') return /^[a-z]:?$/.test(segment)
  return name === '*' || segment === name
}

/** Tells whether a place holds a path of these segments from an index on, or is it. */
export function isInPlace(segments: readonly string[], place: Place, from = 0): boolean {
  return (
    segments.length >= from + place.length &&
    place.every((name, index) => isNamed(segments[from + index] ?? '', name))
  )
}

/** The index of the first segment below each name of the root that a path begins with; 0 first. */
export function* indicesBelowRoots(
  segments: readonly string[],
): Generator<number, undefined, undefined> {
  // A root may be below another one: `/Volumes/Macintosh HD` has `System/Volumes/Data`.
  let from: number | null = 0
  while (from !== null) {
    yield from
    from = indexBelowRoot(segments, from)
  }
}

function indexBelowRoot(segments: readonly string[], from: number): number | null {
  const root = OTHER_ROOTS.find(
    (each) => segments.length > from + each.length && isInPlace(segments, each, from),
  )
  return root === undefined ? null : from + root.length
}

function segmentsOfPlace(text: string): Place {
  return text.split('/')
}
