import { EventEmitter } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ApiError } from '../../../server/src/platform/api-error.ts'
import type { RunningWorker } from '../../../server/src/platform/start-worker.ts'
import { serveCalls, type ServedCalls } from '../../../server/src/work/serve-calls.ts'
import { callWorker, type WorkerCallOptions } from '../../../server/src/work/worker-calls.ts'

/** A worker in this thread; `end` makes it exit. */
function startWorker(served: ServedCalls | null) {
  const { port1, port2 } = new MessageChannel()
  const events = new EventEmitter()
  let terminated = 0
  port1.on('message', (message) => events.emit('message', message))
  port1.once('close', () => events.emit('exit', 0))
  onTestFinished(() => port1.close())
  const notify = served === null ? () => undefined : serveCalls(port2, served)
  const worker: RunningWorker = Object.assign(events, {
    postMessage: port1.postMessage.bind(port1),
    ref: () => port1.ref(),
    unref: () => port1.unref(),
    terminate: async () => {
      terminated += 1
      port1.close()
      return 0
    },
  })
  return { worker, notify, end: () => port1.close(), terminated: () => terminated }
}

const refuse: WorkerCallOptions['refuse'] = ({ cause, isRunning }) =>
  new Error(`${isRunning ? 'running' : 'waiting'}: ${cause.message}`)
const PATIENT = { answerWithinMs: 60_000, refuse }

const messages = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((call) =>
    call.status === 'rejected' ? (call.reason as Error).message : call.value,
  )

describe('calls of a worker', () => {
  it('are answered each with its own value or error, whatever the order', async () => {
    const late = Promise.withResolvers<string>()
    const { worker } = startWorker({
      handle(message) {
        if (message === 'late') return late.promise
        if (message === 'refused') throw new ApiError(403, 'limit_exceeded', 'no', { field: 'a' })
        if (message === 'last') late.resolve('late value')
        return `${String(message)} value`
      },
    })
    const calls = callWorker(worker, PATIENT)

    const answers = messages(['late', 'early', 'last'].map((message) => calls.call(message)))
    await expect(calls.call('refused')).rejects.toMatchObject({
      name: 'ApiError',
      status: 403,
      code: 'limit_exceeded',
      field: 'a',
    })

    expect(await answers).toEqual(['late value', 'early value', 'last value'])
  })

  it('are refused when the worker ends, and the oldest one was running', async () => {
    const { worker, end } = startWorker({ handle: () => new Promise(() => undefined) })
    const ends: string[] = []
    const calls = callWorker(worker, { ...PATIENT, onEnd: ({ message }) => ends.push(message) })

    const waiting = messages([calls.call(1), calls.call(2), calls.call(3, () => new Error('own'))])
    end()

    const cause = 'it exited with code 0'
    expect(await waiting).toEqual([`running: ${cause}`, `waiting: ${cause}`, 'own'])
    expect([calls.hasEnded(), ends]).toEqual([true, [cause]])
    await expect(calls.call(4)).rejects.toThrow('waiting: it has ended')
  })

  it('end a worker that answers nothing for too long, but give it time to start', async () => {
    const dead = startWorker(null)
    const silent = startWorker({ handle: () => new Promise(() => undefined) })
    const late = { startWithinMs: 30, answerWithinMs: 60_000, refuse }
    const slow = { startWithinMs: 60_000, answerWithinMs: 20, refuse }

    expect(
      await messages([
        callWorker(dead.worker, late).call('x'),
        callWorker(silent.worker, slow).call('x'),
      ]),
    ).toEqual(['running: no answer within 30 ms', 'running: no answer within 20 ms'])
    expect([dead.terminated(), silent.terminated()]).toEqual([1, 1])
  })

  it('are refused alone when their message cannot be copied', async () => {
    const { worker, terminated } = startWorker({ handle: (message) => message })
    const calls = callWorker(worker, { answerWithinMs: 10, startWithinMs: 10, refuse })

    await expect(calls.call(() => 0)).rejects.toMatchObject({ name: 'DataCloneError' })
    await setTimeout(30)

    expect(terminated()).toBe(0)
    await expect(calls.call('next')).resolves.toBe('next')
  })

  it('are all answered before a worker closes what it has open', async () => {
    const order: string[] = []
    const { worker } = startWorker({
      async handle(message) {
        await new Promise((resolve) => setImmediate(resolve))
        order.push(String(message))
      },
      close: async () => void order.push('closed'),
    })
    const calls = callWorker(worker, PATIENT)

    const waiting = messages([calls.call('a'), calls.call('b')])
    calls.send('c')
    await calls.close(60_000)

    expect(await waiting).toEqual([undefined, undefined])
    expect(order).toEqual(['a', 'b', 'c', 'closed'])
  })

  it('end a worker that does not close in time', async () => {
    const { worker, terminated } = startWorker({
      handle: () => undefined,
      close: () => new Promise(() => undefined),
    })

    await callWorker(worker, PATIENT).close(20)

    expect(terminated()).toBe(1)
  })

  it('pass notices on, between the answers', async () => {
    const notices: unknown[] = []
    const { worker, notify } = startWorker({
      handle(message) {
        notify({ at: message })
        return 'done'
      },
    })

    const calls = callWorker(worker, { ...PATIENT, onNotice: (notice) => notices.push(notice) })

    expect([await calls.call(1), await calls.call(2)]).toEqual(['done', 'done'])
    expect(notices).toEqual([{ at: 1 }, { at: 2 }])
  })
})
