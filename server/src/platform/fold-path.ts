/**
 * The form that names of one file share where case, width and invisible characters do not count:
 * on macOS `.SSH`, and a `.ssh` with a zero-width joiner in it, are `.ssh`.
 */
export function foldPath(path: string): string {
  if (/^[ -~]*$/.test(path)) return path.toLowerCase()
  const segments = path.split('/').map((each) =>
    each
      .normalize('NFKC')
      .replaceAll(/[\p{Cf}/]/gu, '')
      .toUpperCase()
      .toLowerCase(),
  )
  return segments.join('/')
}
