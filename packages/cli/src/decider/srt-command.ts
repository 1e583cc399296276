import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import { describeSystemError } from '../runtime/system-error.ts'
import { SrtViolation } from './srt-frames.ts'
import { serveSrt } from './srt.ts'

/** The descriptor of the decider in the started command. */
const DECIDER_FD = 3

/**
 * Starts `srt proxy …` with a socket to this decider, which `srt` wants: it reads and writes both
 * of its descriptors, so a shell's pipes do not serve. Resolves to its exit code.
 */
export async function startSrt(
  io: Io,
  domains: readonly string[],
  [command = '', ...args]: readonly string[],
): Promise<number> {
  const child = spawn(command, [...args, '--decider-fd', String(DECIDER_FD)], {
    cwd: io.cwd,
    env: { ...io.env },
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
  })
  const ended = once(child, 'exit')
  const socket = child.stdio[DECIDER_FD] as Duplex
  // The exit of the command reports the failure.
  socket.on('error', () => undefined)
  const served = serveSrt({ ...io, stdin: socket, stdout: socket }, domains).catch(
    (error: unknown) => error,
  )
  try {
    const [code] = (await ended) as [number | null]
    const violation = await served
    if (violation instanceof SrtViolation) throw violation
    return code ?? EXIT.failed
  } catch (error) {
    if (error instanceof SrtViolation) throw error
    const message = `cannot start \`${command}\`: ${describeSystemError(error)}`
    throw new CliError('ERR_USAGE', EXIT.usage, message, { cause: error })
  }
}
