import { spawn, type ChildProcess } from 'node:child_process'
import { Socket as UdpSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { Server } from 'node:net'
import type { SandboxListeners } from '../network/sandbox-network.ts'
import { systemErrorCode } from '../../host/errors.ts'
import { closeSocket } from '../../proxy/udp/udp-sockets.ts'
import type { HolderMessage, ListenerName } from './holder-message.ts'

export interface HolderListeners extends SandboxListeners {
  /** On loopback, for questions to the agent. */
  readonly api: Server
}

/** The process that keeps the namespaces of one sandbox. */
export interface Holder {
  /** Id on this machine of the first process in the namespaces. */
  readonly pid: number
  readonly listeners: HolderListeners
  /** Ports of the datagrams that are carried. */
  readonly udpPorts: readonly number[]
  /** Ends every process in the namespaces, and closes the listeners. Idempotent. */
  end(): void
  /** Resolves when the first process has ended. */
  readonly ended: Promise<void>
}

/** Why no holder could be started; the message is for people. */
export class HolderError extends Error {
  override readonly name = 'HolderError'
}

/**
 * setpriv(1): the kernel ends the holder with the agent, even one that is stopped and cannot read
 * the end of its input. unshare(1): its first process is process 1 of a process namespace with its
 * own /proc.
 */
const SETPRIV_WORDS = [
  '--pdeathsig',
  'KILL',
  '--',
  'unshare',
  '--user',
  '--map-root-user',
  '--net',
  '--mount',
  '--propagation',
  'slave',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  '--',
]
const START_TIMEOUT_MS = 15_000
const MAX_COMPLAINT = 2_000

/**
 * Starts the holder program, the file `program`, in new namespaces, which carry datagrams to
 * `udpPorts`. Rejects with `HolderError`.
 */
export async function startHolder(
  program: string,
  udpPorts: readonly number[] = [],
): Promise<Holder> {
  const child = spawn(
    'setpriv',
    [...SETPRIV_WORDS, process.execPath, program, ...udpPorts.map(String)],
    {
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
      // The holder has no use for settings of the agent.
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    },
  )
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>()
  child.once('close', () => resolveEnded())
  child.stdin?.on('error', () => {})
  const listeners = await receiveListeners(child)
  const pid = firstChildOf(child)
  if (pid === null) {
    child.kill('SIGKILL')
    throw new HolderError('the process that keeps the namespaces has ended')
  }
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    const { udp, ...others } = listeners
    closeAll([...Object.values(others), ...udp.values()])
    if (child.exitCode === null && child.signalCode === null) kill(pid)
    child.stdin?.destroy()
  }
  // The listeners are of no use without the namespaces.
  void ended.then(end)
  return { pid, listeners, udpPorts, end, ended }
}

/** Resolves once the holder is ready. Rejects with `HolderError`, and then closes all. */
async function receiveListeners(child: ChildProcess): Promise<HolderListeners> {
  const received: Partial<Record<ListenerName, Server | UdpSocket>> = {}
  const udp = new Map<number, UdpSocket>()
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(0, MAX_COMPLAINT)
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = (problem: string): void => reject(new HolderError(problem))
  child.on('message', (message: HolderMessage, handle) => {
    if (message.kind === 'failed') fail(message.problem)
    else if (message.kind === 'ready') resolve()
    else if (message.kind === 'udp' && handle instanceof UdpSocket) udp.set(message.port, handle)
    else if (
      message.kind === 'listener' &&
      (handle instanceof Server || handle instanceof UdpSocket)
    )
      received[message.name] = handle
  })
  child.once('error', (error) => fail(describeSpawnError(error)))
  child.once('close', () => fail(describeComplaint(complaint)))
  const timer = setTimeout(() => fail('the namespaces were not ready in time'), START_TIMEOUT_MS)
  try {
    await promise
    return { ...(received as Omit<HolderListeners, 'udp'>), udp }
  } catch (error) {
    closeAll([...Object.values(received), ...udp.values()])
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Closes those that are still open. */
function closeAll(handles: Iterable<Server | UdpSocket>): void {
  for (const handle of handles)
    if (handle instanceof UdpSocket) closeSocket(handle)
    else handle.close()
}

function describeSpawnError(error: Error): string {
  return `\`setpriv\` of util-linux cannot be started: ${error.message}`
}

function describeComplaint(complaint: string): string {
  const refusal = /^unshare: (.*)$/m.exec(complaint)?.[1]
  if (refusal !== undefined)
    return `new namespaces are refused here: ${refusal}; run \`palisade doctor\``
  return `the process that keeps the namespaces has ended: ${complaint.trim() || 'no reason given'}`
}

/** The kernel ends the others with the first process, and unshare(1) waits for that. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (systemErrorCode(error) !== 'ESRCH') throw error
  }
}

/** The holder is the only child of unshare(1). Null once it has ended. */
function firstChildOf({ pid }: ChildProcess): number | null {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    const child = Number(first)
    return Number.isSafeInteger(child) && child > 1 ? child : null
  } catch {
    return null
  }
}
