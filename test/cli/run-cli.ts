import { Readable, Writable } from 'node:stream'
import { run } from '../../packages/cli/src/run.ts'
import type { Io } from '../../packages/cli/src/runtime/io.ts'

export interface CliRun {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CliSetting extends Partial<Omit<Io, 'stdin'>> {
  readonly stdin?: Readable | string | Buffer
}

/** Runs the command in this process, without a terminal, away from the real home directory. */
export async function runCli(argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  const { stdin = '', ...rest } = setting
  const code = await run(argv, {
    stdout: collector(out),
    stderr: collector(err),
    env: {},
    cwd: '/nonexistent/cwd',
    home: '/nonexistent/home',
    hostName: 'laptop',
    now: () => Date.parse('2026-11-21T12:00:00.000Z'),
    columns: null,
    colour: false,
    progress: false,
    prompts: null,
    fetch,
    interruption: () => new AbortController().signal,
    self: ['/opt/node', '/opt/palisade.cjs'],
    runProgram: () => Promise.reject(new Error('no program runs in this test')),
    platform: 'linux',
    isInSandbox: () => false,
    replaceProcess: () => {
      throw new Error('no program takes over in this test')
    },
    captureProgram: async () => ({ kind: 'missing' }),
    ...rest,
    stdin: stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]),
  })
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

function collector(chunks: Buffer[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
}
