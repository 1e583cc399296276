import type { Readable, Writable } from 'node:stream'
import type { Prompts } from './terminal/prompts.ts'

/** Everything that a run of the command touches outside itself, so that tests can give it. */
export interface Io {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute; relative file arguments count from here. */
  readonly cwd: string
  /** The user's home directory. */
  readonly home: string
  /** Of this machine, for people. */
  readonly hostName: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Colour on stdout. */
  readonly colour: boolean
  /** Whether stderr is looked at by a person while the command runs. */
  readonly progress: boolean
  /** Null when nobody can be asked. */
  readonly prompts: Prompts | null
  readonly fetch: typeof fetch
}
