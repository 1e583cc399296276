import type { Socket } from 'node:net'

/**
 * Reads an option of a socket into `value`, which is not longer than the option. Returns false for
 * a closed socket, and where the kernel refuses.
 */
export type ReadSocketOption = (
  socket: Socket,
  option: { readonly level: number; readonly name: number },
  value: Buffer,
) => boolean

export type LoadedSocketOptions =
  | { readonly ok: true; readonly read: ReadSocketOption }
  /** `reason` is the first line of the error. */
  | { readonly ok: false; readonly reason: string }

/** The part of koffi that is used; null loads the libraries of this process. */
export interface Koffi {
  load(library: null): { func(declaration: string): (...call: never[]) => unknown }
}

/** `getsockopt(2)`; returns 0, and sets the length to that of the option. */
type GetSockopt = (
  ...call: [descriptor: number, level: number, option: number, value: Buffer, length: number[]]
) => number

/** Loads the native call, which Node does not offer. */
export async function loadSocketOptions(
  load: () => Promise<{ readonly default: Koffi }> = () => import('koffi'),
): Promise<LoadedSocketOptions> {
  try {
    const { default: koffi } = await load()
    const getSockopt = koffi
      .load(null)
      .func(
        'int getsockopt(int descriptor, int level, int option, ' +
          '_Out_ uint8_t *value, _Inout_ uint32_t *length)',
      ) as GetSockopt
    const read: ReadSocketOption = (socket, { level, name }, value) => {
      const descriptor = descriptorOf(socket)
      if (descriptor === null) return false
      return getSockopt(descriptor, level, name, value, [value.length]) === 0
    }
    return { ok: true, read }
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    return { ok: false, reason: reason ?? '' }
  }
}

/** Node has no public way to the descriptor of a socket. Null for a closed one. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as unknown as {
    readonly _handle?: { readonly fd?: number } | null
  }
  const descriptor = handle?.fd ?? -1
  return descriptor >= 0 ? descriptor : null
}
