/**
 * - `ERR_COPY_NOT_EMPTY`: the target has rows already.
 * - `ERR_COPY_SCHEMA`: the source is no store, or not of this release's schema.
 * - `ERR_COPY_DIFFERS`: the rows that arrived differ from those sent; the target keeps no row.
 */
export type CopyErrorCode = 'ERR_COPY_NOT_EMPTY' | 'ERR_COPY_SCHEMA' | 'ERR_COPY_DIFFERS'

/** Every refusal of a copy by itself; a store that does not answer throws StoreError. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
  readonly code: CopyErrorCode

  constructor(code: CopyErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
