import { closeInheritedDescriptors } from './inherited-descriptors.ts'

/**
 * Replaces this process with another program, with an empty environment and no descriptor but the
 * standard ones, so that no Node process stays beside the command. Linux only. Returns only by an
 * exception.
 */
export function replaceProcess(program: string, words: readonly string[]): never {
  closeInheritedDescriptors()
  if (process.execve === undefined) throw new Error('this Node cannot replace its process')
  for (const stream of [process.stdin, process.stdout, process.stderr]) letWait(stream)
  return process.execve(program, [program, ...words], {})
}

/**
 * Node opens pipes, sockets and terminals so that reading and writing them does not wait. The mode
 * stays with the descriptor, and most programs take it for an error.
 */
function letWait(stream: NodeJS.ReadStream | NodeJS.WriteStream): void {
  const { _handle: handle } = stream as { readonly _handle?: WaitingHandle | null }
  handle?.setBlocking?.(true)
}

interface WaitingHandle {
  /** Only of pipes, sockets and terminals. */
  readonly setBlocking?: (isBlocking: boolean) => void
}
