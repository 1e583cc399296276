import { spawn, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { BUNDLED } from '../../packages/launcher/programs.mjs'
import { removeDirectory } from '../remove-directory.ts'

const OURS = join(import.meta.dirname, '..', '..', 'packages', 'launcher')

/** A checkout of the launcher only, with stand-ins of other programs that log their calls. */
export interface Checkout {
  readonly root: string
  /** Runs `run.mjs`; `env` is laid over a bare environment. */
  run(args: readonly string[], options?: RunOptions): Promise<Finished>
  start(args: readonly string[], options?: RunOptions): ChildProcess
  /** Starts it as npm does, below a shell that waits for it. */
  startInShell(args: readonly string[], options?: RunOptions): ChildProcess
  write(path: string, text: string): void
  /** The log of a stand-in program, such as one line for each compilation. */
  logged(program: 'npx' | 'tsc' | 'bundler'): string[]
  remove(): void
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Stands in for npx: installs a compiler, slowly enough for two runs to overlap. */
const NPX = `#!${process.execPath}
const fs = require('node:fs')
fs.appendFileSync('npx.log', process.argv.slice(2).join(' ') + '\\n')
if (process.env.NPX_FAILS) { console.log(process.env.NPX_FAILS); process.exit(1) }
setTimeout(() => {
  fs.mkdirSync('node_modules/typescript/bin', { recursive: true })
  fs.copyFileSync('tsc-stand-in', 'node_modules/typescript/bin/tsc')
  if (!fs.existsSync('bundler-stand-in')) return
  fs.mkdirSync('packages/launcher/node_modules/rolldown', { recursive: true })
  fs.copyFileSync('bundler-stand-in', 'packages/launcher/node_modules/rolldown/index.js')
}, 100)
`

/** Stands in for the compiler: writes the build info of every package. */
const TSC = `
const fs = require('node:fs')
fs.appendFileSync('tsc.log', process.argv.slice(2).join(' ') + '\\n')
if (process.env.TSC_FAILS) { console.log('server/src/a.ts(1,1): error TS1005'); process.exit(2) }
for (const folder of ['packages/cli', 'server', 'agent', 'packages/policy-core']) {
  fs.mkdirSync(folder + '/dist', { recursive: true })
  fs.writeFileSync(folder + '/dist/tsconfig.tsbuildinfo', '')
}
`

/** Stands in for the bundler: copies the main source of a program, and logs its name. */
const BUNDLER = `
if (process.env.BUNDLER_FAILS) throw new Error('an import was not found')
const fs = require('node:fs')
exports.rolldown = async ({ input }) => ({
  write: async ({ dir }) => {
    for (const [name, main] of Object.entries(input)) {
      fs.mkdirSync(dir, { recursive: true })
      fs.copyFileSync(main, dir + '/' + name + '.cjs')
      fs.appendFileSync('bundler.log', name + '\\n')
    }
  },
  close: async () => {},
})
`

/** Stands in for our programs: prints its arguments and environment, and exits as requested. */
const PROGRAM = `
const report = {
  args: process.argv.slice(2),
  cwd: process.cwd(),
  data: process.env.PALISADE_DATA_DIR,
  path: process.env.PATH,
  options: process.execArgv,
  env: process.env,
}
if (process.argv[2] === 'wait') {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(7))
  setTimeout(() => console.log('never told to end'), 60_000)
  console.log('waiting')
} else {
  console.log(JSON.stringify(report))
  process.exitCode = Number(process.argv[3] ?? 0)
}
`

/** Creates one in a temporary directory. */
export function createCheckout(): Checkout {
  const root = mkdtempSync(join(tmpdir(), 'palisade-launcher-'))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const withoutModules = (path: string): boolean => !path.includes('node_modules')
  cpSync(OURS, join(root, 'packages', 'launcher'), { recursive: true, filter: withoutModules })
  for (const folder of ['packages/cli', 'packages/policy-core', 'server', 'agent']) {
    write(`${folder}/package.json`, `{"name":"${folder}","type":"commonjs"}`)
    write(`${folder}/tsconfig.json`, '{}')
  }
  for (const { main } of BUNDLED) write(main, PROGRAM)
  for (const file of ['package.json', 'tsconfig.json']) write(file, '{}')
  write('pnpm-lock.yaml', 'lockfileVersion: 9')
  write('pnpm-workspace.yaml', 'packages: [packages/*]')
  write('tsc-stand-in', TSC)
  write('bundler-stand-in', BUNDLER)
  write('bin/npx', NPX)
  chmodSync(join(root, 'bin', 'npx'), 0o755)

  const launch = (
    command: readonly [string, ...string[]],
    { env = {}, cwd = root }: RunOptions = {},
  ): ChildProcess => {
    const [program, ...args] = command
    const path = [join(root, 'bin'), dirname(process.execPath), '/usr/bin', '/bin']
    return spawn(program, args, { cwd, env: { PATH: path.join(delimiter), ...env } })
  }
  const runMjs = join(root, 'packages/launcher/run.mjs')
  const start: Checkout['start'] = (args, options) =>
    launch([process.execPath, runMjs, ...args], options)
  return {
    root,
    start,
    startInShell: (args, options) =>
      launch(['/bin/sh', '-c', '"$@"; exit $?', 'sh', process.execPath, runMjs, ...args], options),
    write,
    run: (args, options) => finish(start(args, options)),
    logged(program) {
      const file = join(root, `${program}.log`)
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    },
    remove: () => removeDirectory(root),
  }
}

/** Collects the output of a child until it has ended. */
export function finish(child: ChildProcess): Promise<Finished> {
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...output }))
  })
}
