/** Marks of overlayfs on the objects of an upper layer, which Node does not offer. */
export interface LayerAttributes {
  /** Whether a directory replaces the one below it, instead of adding to it. */
  isOpaque(path: string): boolean
  /** Whether the object was copied up from the layer below. */
  isCopied(path: string): boolean
}

/** The part of koffi that is used; null loads the libraries of this process. */
interface Koffi {
  load(library: null): { func(declaration: string): (...call: never[]) => unknown }
}

/** lgetxattr(2); returns the length of the value, and -1 without one. */
type GetAttribute = (...call: [path: string, name: string, value: Buffer, size: number]) => number

const OPAQUE = 'user.overlay.opaque'
const ORIGIN = 'user.overlay.origin'
const MAX_VALUE_BYTES = 512

/** Loads the native call. Rejects with the error of the loader. */
export async function loadLayerAttributes(
  load: () => Promise<{ readonly default: Koffi }> = () => import('koffi'),
): Promise<LayerAttributes> {
  const { default: koffi } = await load()
  const getAttribute = koffi
    .load(null)
    .func(
      'int64_t lgetxattr(const char *path, const char *name, _Out_ uint8_t *value, size_t size)',
    ) as GetAttribute
  const value = Buffer.alloc(MAX_VALUE_BYTES)
  const length = (path: string, name: string): number =>
    getAttribute(path, name, value, MAX_VALUE_BYTES)
  return {
    // `x` means that the directory may have whiteouts in attributes.
    isOpaque: (path) => length(path, OPAQUE) === 1 && value[0] === 'y'.charCodeAt(0),
    isCopied: (path) => length(path, ORIGIN) >= 0,
  }
}
