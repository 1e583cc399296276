/** Segments of a folded path: a name, `*` for any name, `?` for the letter of a drive. */
export type DirectoryPattern = readonly string[]

/** The directory of one user each. */
export const HOMES: readonly DirectoryPattern[] = [
  'root',
  'home/*',
  'users/*',
  'var/home/*',
  'var/root',
  'var/roothome',
  'export/home/*',
].map(parsePattern)

/**
 * Directories where the root of a system is too: those of macOS, drives of Windows, and those of a
 * host with images of its system, below a container, or in a changed root. Those that hold others
 * come last.
 */
export const OTHER_ROOTS: readonly DirectoryPattern[] = [
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
].map(parsePattern)

/**
 * Directories of names for any file: `/proc/self/root` is another name of `/`, and there are such
 * of every open file. macOS has names by number, and names that follow links otherwise.
 */
export const OTHER_NAMES: readonly DirectoryPattern[] = [
  'dev/fd',
  '.vol',
  '.nofollow',
  '.resolve',
].map(parsePattern)

/** Tells whether a segment of a folded path matches one of a pattern. */
export function isNamed(segment: string, name: string): boolean {
  if (name === '?') return /^[a-z]:?$/.test(segment)
  return name === '*' || segment === name
}

/** Tells whether a directory is, or holds, the path of these segments from an index on. */
export function isWithin(
  segments: readonly string[],
  directory: DirectoryPattern,
  from = 0,
): boolean {
  return (
    segments.length >= from + directory.length &&
    directory.every((name, index) => isNamed(segments[from + index] ?? '', name))
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
    (each) => segments.length > from + each.length && isWithin(segments, each, from),
  )
  return root === undefined ? null : from + root.length
}

function parsePattern(text: string): DirectoryPattern {
  return text.split('/')
}
