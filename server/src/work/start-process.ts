import { fork, type ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import {
  OUT_OF_MEMORY,
  workerFile,
  type RunningWorker,
  type StartWorker,
} from '../platform/start-worker.ts'

/**
 * Starts a worker as a child process. All of its memory returns to the system at its end, and a
 * system that is short of memory ends the child and not the server. Buffers are copied.
 */
export const startProcess: StartWorker = (name, options) =>
  startProcessOf(workerFile(name), options)

/** `resourceLimits` bounds the old generation; a process has no other options. */
export function startProcessOf(
  file: URL,
  { resourceLimits = {} }: Parameters<StartWorker>[1],
): RunningWorker {
  const { maxOldGenerationSizeMb: maxMib } = resourceLimits
  const child = fork(file, [], {
    serialization: 'advanced',
    // Not inherited: `--inspect` would take the port of the server.
    execArgv: ['--max-semi-space-size=8', ...(maxMib ? [`--max-old-space-size=${maxMib}`] : [])],
    // V8 prints a stack when it runs out of memory, and the log has lines of JSON.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ended = new Promise<number>((resolve) => child.once('close', () => resolve(0)))
  let isTerminated = false
  const send = (message: unknown): void => {
    // An error here means that the child has ended, which its exit tells.
    if (child.connected) child.send(message as object, () => undefined)
  }
  return Object.assign(
    observe(child, () => isTerminated),
    {
      postMessage: send,
      ref: () => child.ref(),
      unref() {
        child.unref()
        child.channel?.unref()
      },
      terminate() {
        isTerminated = true
        child.kill('SIGKILL')
        return ended
      },
    },
  )
}

/** V8 aborts a child whose heap is full, and Linux kills one when memory is short. */
const SIGNALS_OF_MEMORY: readonly string[] = ['SIGABRT', 'SIGKILL']

/** The events of a thread. */
function observe(child: ChildProcess, isTerminated: () => boolean): EventEmitter {
  const events = new EventEmitter()
  child.on('message', (message) => events.emit('message', message))
  child.once('error', (error) => events.emit('error', error))
  child.once('exit', (code, signal) => {
    if (signal !== null && !isTerminated()) {
      const error = new Error(`ended by ${signal}`)
      events.emit(
        'error',
        SIGNALS_OF_MEMORY.includes(signal) ? Object.assign(error, OUT_OF_MEMORY) : error,
      )
    }
    events.emit('exit', code ?? 1)
  })
  return events
}
