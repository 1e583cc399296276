import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { z } from 'zod'
import type { LaunchDirectory } from './launch-directory.ts'

/** The first process of a sandbox, made by bubblewrap, before and while the command runs. */
export interface Child {
  /** Its id in the process namespace of the holder. */
  readonly pid: number
  /** Resolves when the shell that supervises it has ended, however. */
  readonly ended: Promise<void>
}

/** See `--info-fd` in bwrap(1). */
const infoSchema = z.object({ 'child-pid': z.int().min(2) })
const MAX_INFO_LENGTH = 4_096

/**
 * Waits until bubblewrap has made its child. Rejects with the reason of `signal` when that takes
 * too long, and with an error when something else is written.
 */
export async function awaitChild(files: LaunchDirectory, signal: AbortSignal): Promise<Child> {
  // With a writer in this process the FIFO does not end before bubblewrap opens it; with a reader,
  // opening it to write does not wait.
  const kept = files.openFifo('sync', 'both')
  const info = new Socket({ fd: files.openFifo('info', 'both'), readable: true, writable: false })
  try {
    const pid = await readPid(info, signal)
    // The supervising shell alone holds this FIFO open, so it ends with the shell.
    const life = new Socket({ fd: files.openFifo('sync', 'read'), readable: true, writable: false })
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    life.once('close', () => resolve()).on('error', () => {})
    life.resume()
    return { pid, ended }
  } finally {
    closeSync(kept)
    info.destroy()
  }
}

async function readPid(info: Socket, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let text = ''
  const onAbort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort)
  info.setEncoding('utf8').on('error', reject)
  info.on('data', (part: string) => {
    text += part
    if (text.length > MAX_INFO_LENGTH) reject(new Error('bubblewrap tells too much of its child'))
    else if (text.includes('}')) {
      const told = parse(text)
      if (told === null) reject(new Error('bubblewrap does not tell the id of its child'))
      else resolve(told['child-pid'])
    }
  })
  if (signal.aborted) onAbort()
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function parse(text: string): z.infer<typeof infoSchema> | null {
  try {
    return infoSchema.parse(JSON.parse(text))
  } catch {
    return null
  }
}
