import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from './free-port.ts'
import { startProcess, type MeasuredProcess } from './start-process.ts'

/** A program that listens on a port. */
export interface ListeningProcess extends MeasuredProcess {
  readonly port: number
}

/** Starts a script of Node with a free port as its argument. */
export function startScript(script: string): Promise<ListeningProcess> {
  return startListening(process.execPath, (port) => [script, String(port)])
}

/** Starts a program on a free port, and resolves when it listens. */
export async function startListening(
  command: string,
  argumentsFor: (port: number) => readonly string[],
): Promise<ListeningProcess> {
  const port = await freePort()
  const isReady = (): Promise<boolean> => isListening(port)
  return { port, ...(await startProcess(command, argumentsFor(port), {}, isReady)) }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
