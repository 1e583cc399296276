import { spawn } from 'node:child_process'
import { access, stat } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { BUILT_CLI } from '../built-programs.ts'
import { POLICY_FILE } from './policy-fixture.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const ALLOWED = '{"action":"read","path":"/home/dev/work/x"}\n'

const TOOL_CALL = JSON.stringify({
  hook_event_name: 'PreToolUse',
  cwd: '/',
  tool_name: 'Read',
  tool_input: { file_path: '/etc/hosts' },
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface StartOptions {
  readonly closeAfterBytes?: number
  readonly program?: string
  readonly nodeOptions?: readonly string[]
}

interface Loaded {
  readonly files: readonly string[]
  readonly builtins: readonly string[]
}

/** Prints a `Loaded` as the last line of standard error. */
const REPORT_LOADED = `process.on('exit', () => {
  const files = Object.keys(require.cache).filter((file) => file !== __filename)
  process.stderr.write('\\n' + JSON.stringify({ files, builtins: process.moduleLoadList }))
})`

function start(
  argv: readonly string[],
  cwd: string,
  input: string,
  { closeAfterBytes, program, nodeOptions = [] }: StartOptions = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { HOME: cwd } }
    const child =
      program === undefined
        ? spawn(process.execPath, [...nodeOptions, ...BUILT_CLI, ...argv], options)
        : spawn(program, argv, { ...options, env: { ...options.env, PATH: '/usr/bin:/bin' } })
    let out = ''
    let err = ''
    child.on('error', reject)
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (closeAfterBytes !== undefined && out.length > closeAfterBytes) child.stdout.destroy()
    })
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    child.on('close', (code) => resolve({ code, out, err }))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}

/** Runs `script`, in which `"$@"` is `command`. */
function startInShell(script: string, command: readonly string[], cwd: string): Promise<Ended> {
  return start(['-c', script, 'sh', ...command], cwd, '', { program: 'sh' })
}

describe('the built command', () => {
  it('has been built', async () => {
    await expect(access(BUILT_CLI.at(-1) ?? '')).resolves.toBeUndefined()
  })

  it.each([
    [['check', 'read', '/home/dev/work/x', '--policies', 'p.json'], 0, /^allow /, /^$/],
    [['check', 'read', '/etc/shadow', '--policies', 'p.json'], 1, /^deny /, /^$/],
    [
      ['check', 'read', '/x', '--policies', 'none.json'],
      2,
      /^$/,
      /^error: none\.json: no such file/,
    ],
    [['check', 'read', '/x'], 2, /^$/, /it is not running; no machine is enrolled/],
    [['policy', 'list'], 78, /^$/, /palisade login/],
    [['policy', 'delete', 'x'], 2, /^$/, /--yes/],
    [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
  ] as const)('answers %j with exit %i', async (argv, code, out, err) => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', POLICY_FILE)

    const ended = await start(argv, directory.path, '')

    expect(ended.code).toBe(code)
    expect(ended.out).toMatch(out)
    expect(ended.err).toMatch(err)
  })

  it.each([
    ['--version', 120_000],
    ['hook claude', 80_000],
  ])('loads only what `palisade %s` needs', async (words, mostBytes) => {
    await using directory = await temporaryDirectory()
    await directory.write('report.cjs', REPORT_LOADED)

    const { err } = await start(words.split(' '), directory.path, TOOL_CALL, {
      nodeOptions: ['--require', './report.cjs'],
    })

    const { files, builtins } = JSON.parse(err.split('\n').at(-1) ?? '') as Loaded
    const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    expect(files.length).toBeGreaterThan(3)
    expect(bytes).toBeLessThan(mostBytes)
    expect(builtins).not.toContain('NativeModule crypto')
  })

  it('streams a long batch completely', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', POLICY_FILE)
    const lines = 5_000

    const argv = ['check', '--policies', 'p.json', '--batch', '-']
    const ended = await start(argv, directory.path, ALLOWED.repeat(lines))

    expect(ended).toMatchObject({ code: 0, err: '' })
    expect(ended.out.split('\n')).toHaveLength(lines + 1)
  })

  it('ends without an error when the reader of a batch goes away', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', POLICY_FILE)

    const argv = ['check', '--policies', 'p.json', '--batch', '-']
    const ended = await start(argv, directory.path, ALLOWED.repeat(20_000), {
      closeAfterBytes: 100,
    })

    expect(ended).toMatchObject({ code: 0, err: '' })
  })

  it('refuses a directory on standard input instead of reading an empty batch', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', POLICY_FILE)
    const command = [
      process.execPath,
      ...BUILT_CLI,
      'check',
      '--policies',
      'p.json',
      '--batch',
      '-',
    ]

    const ended = await startInShell('exec "$@" < .', command, directory.path)

    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(/^error: standard input is a directory; /)
  })

  it('answers in one line, without the exit code of a deny, if its directory is gone', async () => {
    await using directory = await temporaryDirectory()
    const command = [process.execPath, ...BUILT_CLI, 'check', 'read', '/x', '--policies', 'p.json']

    const ended = await startInShell('rmdir "$PWD" && exec "$@"', command, directory.path)

    expect(ended.code).toBe(2)
    expect(ended.err).toBe('error: the working directory does not exist; change to one that does\n')
  })
})
