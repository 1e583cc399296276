import type { WorkerPort } from '../platform/start-worker.ts'
import { encodeFailure, type Failure } from './failure.ts'

/** Ends the worker after all calls before it. */
export const CLOSE = 'close'

/** A call has a number, which its answer repeats. */
export type ToWorker =
  { readonly id: number; readonly message: unknown } | { readonly message: unknown } | typeof CLOSE

export type FromWorker =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly notice: unknown }
  | { readonly ready: true }

export interface ServedCalls {
  /** Called in the order of the messages; its result, or its error, is the answer to a call. */
  handle(message: unknown): unknown
  /** Closes what is open, at the end. */
  close?(): Promise<void>
}

/** Answers the calls that arrive at the port of a worker. Returns a sender of notices. */
export function serveCalls(
  port: WorkerPort,
  { handle, close }: ServedCalls,
): (notice: unknown) => void {
  const running = new Set<Promise<void>>()
  const post = (message: FromWorker): void => port.postMessage(message, [])

  async function answer(sent: Exclude<ToWorker, typeof CLOSE>): Promise<void> {
    try {
      const value = await handle(sent.message)
      if ('id' in sent) post({ id: sent.id, value })
    } catch (error) {
      if (!('id' in sent)) throw error
      post({ id: sent.id, failure: encodeFailure(error) })
    }
  }

  async function end(): Promise<void> {
    await Promise.all(running)
    await close?.()
    port.close()
  }

  port.on('message', (sent: ToWorker) => {
    if (sent === CLOSE) return void end()
    const work = answer(sent).finally(() => running.delete(work))
    running.add(work)
  })
  post({ ready: true })
  return (notice) => post({ notice })
}
