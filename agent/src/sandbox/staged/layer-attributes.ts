import { constants } from 'node:os'

/** Traits of the objects of an upper layer that Node does not offer: marks of overlayfs, holes. */
export interface LayerAttributes {
  /** Whether a directory replaces the one below it, instead of adding to it. */
  isOpaque(path: string): boolean
  /** Whether the object was copied up from the layer below. */
  isCopied(path: string): boolean
  /**
   * The next bytes of an open file that are not a hole, `end` excluded; null at the end.
   * Throws `EIO` when they cannot be told.
   */
  dataFrom(descriptor: number, position: number): DataRange | null
}

/** Positions in a file, in bytes. */
export interface DataRange {
  readonly start: number
  readonly end: number
}

/** The part of koffi that is used; null loads the libraries of this process. */
interface Koffi {
  load(library: null): { func(declaration: string): (...call: never[]) => unknown }
  /** The error number of the last call. */
  errno(): number
}

/** lgetxattr(2); returns the length of the value, and -1 without one. */
type GetAttribute = (...call: [path: string, name: string, value: Buffer, size: number]) => number

/** lseek(2); returns -1 at the end of the file. */
type Seek = (...call: [descriptor: number, position: number, whence: number]) => number | bigint

const { errno } = constants
const SEEK_DATA = 3
const SEEK_HOLE = 4
const OPAQUE = 'user.overlay.opaque'
const ORIGIN = 'user.overlay.origin'
const MAX_VALUE_BYTES = 512

/** Loads the native call. Rejects with the error of the loader. */
export async function loadLayerAttributes(
  load: () => Promise<{ readonly default: Koffi }> = () => import('koffi'),
): Promise<LayerAttributes> {
  const { default: koffi } = await load()
  const library = koffi.load(null)
  const getAttribute = library.func(
    'int64_t lgetxattr(const char *path, const char *name, _Out_ uint8_t *value, size_t size)',
  ) as GetAttribute
  const seek = library.func('int64_t lseek(int descriptor, int64_t position, int whence)') as Seek
  const value = Buffer.alloc(MAX_VALUE_BYTES)
  const length = (path: string, name: string): number =>
    getAttribute(path, name, value, MAX_VALUE_BYTES)
  return {
    // `x` means that the directory may have whiteouts in attributes.
    isOpaque: (path) => length(path, OPAQUE) === 1 && value[0] === 'y'.charCodeAt(0),
    isCopied: (path) => length(path, ORIGIN) >= 0,
    dataFrom(descriptor, position) {
      const start = Number(seek(descriptor, position, SEEK_DATA))
      if (start < 0 && koffi.errno() === errno.ENXIO) return null
      const end = start < 0 ? -1 : Number(seek(descriptor, start, SEEK_HOLE))
      // Content that is not found must not become zeros.
      if (end <= start) throw Object.assign(new Error('lseek failed'), { code: 'EIO' })
      return { start, end }
    },
  }
}
