import type { Readable, Writable } from 'node:stream'
import type { Prompts } from '../terminal/prompts.ts'
import type { CaptureProgram } from './programs/capture-program.ts'
import type { RunProgram } from './programs/run-program.ts'

/** How a command finds the agent. */
export type AgentIo = Pick<Io, 'env' | 'cwd' | 'isInSandbox'>

/** Everything outside the command that it reads or writes; tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute; relative file arguments resolve against it. */
  readonly cwd: string
  /** The user's home directory. */
  readonly home: string
  /** Display name of this machine. */
  readonly hostName: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Width of the terminal on stdout; null for another output. */
  readonly columns: number | null
  /** Colour on stdout. */
  readonly colour: boolean
  /** Whether stderr is a terminal that can clear a line, where progress may be shown. */
  readonly progress: boolean
  /** Null in a run that is not interactive. */
  readonly prompts: Prompts | null
  readonly fetch: typeof fetch
  /** Aborts at Ctrl-C (SIGINT), which from this call on does not end the process. */
  readonly interruption: () => AbortSignal
  /** The command line of this program, absolute, for programs that start it again. */
  readonly self: readonly string[]
  readonly runProgram: RunProgram
  /** Name of the operating system, as Node has it. */
  readonly platform: string
  /** Whether this is a sandbox by its file system. Variables could claim it anywhere. */
  readonly isInSandbox: () => boolean
  /** Replaces this process with a program, its words and an empty environment. */
  readonly replaceProcess: (program: string, words: readonly string[]) => number
  readonly captureProgram: CaptureProgram
}
