import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { runCli } from './run-cli.ts'

const EXAMPLE = resolve('examples/policies.json')

const COMMANDS = [
  [],
  ['check'],
  ['explain'],
  ['lint'],
  ['status'],
  ['sync'],
  ['login'],
  ['logout'],
  ['policy'],
  ['policy', 'list'],
  ['policy', 'show'],
  ['policy', 'create'],
  ['policy', 'delete'],
  ['rule'],
  ['rule', 'add'],
  ['rule', 'update'],
  ['rule', 'rm'],
  ['enrol'],
  ['log'],
  ['why'],
  ['env'],
  ['exec'],
  ['connect'],
  ['deny'],
  ['undeny'],
  ['doctor'],
  ['policy', 'ls'],
  ['hook'],
  ['decider', 'srt'],
  ['decider', 'httpjail'],
]

function fullDisk(): Writable {
  const stream = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'ENOSPC' })),
  })
  return stream.on('error', () => undefined)
}

describe('the command line', () => {
  it.each(COMMANDS.map((command) => [command]))('explains %j on --help', async (command) => {
    const result = await runCli([...command, '--help'])

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).toMatch(/^Usage: palisade/)
    const group = ['policy', 'rule'].includes(command.join(' '))
    expect(result.out).toContain(group ? 'Commands:\n' : 'Examples:\n')
  })

  it('prints the version of its package', async () => {
    const text = await readFile('packages/cli/package.json', 'utf8')
    const { version } = JSON.parse(text) as { version: string }

    expect(await runCli(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  })

  it.each<[string, readonly string[], number, string]>([
    ['no command', [], 2, 'a command is needed'],
    ['half a command', ['policy'], 2, 'a command is needed'],
    ['an unknown command', ['chek'], 2, 'did you mean check'],
    ['an unknown option', ['check', '--jsn'], 2, 'unknown option `--jsn`'],
    ['an option without value', ['check', 'read', '/x', '--policies'], 2, 'argument missing'],
    ['too many arguments', ['status', 'now'], 2, 'too many arguments'],
    ['check without target', ['check', 'read'], 2, 'an action and a target are needed'],
    ['check of an unknown action', ['check', 'open', '/x'], 2, 'write one of `connect:tcp`'],
    ['check without port', ['check', 'connect:tcp', 'example.com'], 2, 'example.com:443'],
    ['a batch with a target', ['check', 'read', '/x', '--batch', '-'], 2, 'leave out'],
    ['a batch with an address', ['check', '--address', '::1', '--batch', '-'], 2, 'leave out'],
    ['an empty file name', ['lint', ''], 2, 'a file name is empty'],
    [
      'an empty name of policies',
      ['check', 'read', '/x', '--policies='],
      2,
      'a file name is empty',
    ],
    [
      'an empty name of requests',
      ['check', '--batch=', `--policies=${EXAMPLE}`],
      2,
      'a file name is empty',
    ],
    ['lint without file', ['lint'], 2, 'missing required argument'],
    ['enrol without an account', ['enrol'], 78, 'palisade login'],
    ['issue without options', ['break-glass', 'issue', 'd'], 2, '`--reason`, `--for`, `--out`'],
    ['a wrong option', ['policy', 'list', '--all'], 2, 'see `palisade policy list --help`'],
    [
      'rule add without options',
      ['rule', 'add', 'p', 'x'],
      2,
      '`--name NAME`, `--action connect:tcp`, `--allow`',
    ],
    ['a rule without name', ['rule', 'add', 'p', 'x', '--action', 'read', '--allow'], 2, '--name'],
    ['a rule without action', ['rule', 'add', 'p', 'x', '--name', 'n', '--deny'], 2, '--action'],
    [
      'a rule without decision',
      ['rule', 'add', 'p', 'x', '--name', 'n', '--action', 'read'],
      2,
      '--allow',
    ],
    ['allow and deny', ['rule', 'update', 'p', 'r', '--allow', '--deny'], 2, 'exclude each other'],
    [
      'an unknown action',
      ['rule', 'update', 'p', 'r', '--action', 'open'],
      2,
      'unknown action `open`',
    ],
    ['no change', ['rule', 'update', 'p', 'r'], 2, 'nothing to change'],
    ['delete without asking', ['policy', 'delete', 'p'], 2, '--yes'],
    ['login without server', ['login'], 2, '`--server` is missing'],
    ['login at a strange server', ['login', '--server', 'ftp://x'], 2, 'http or https URL'],
    ['no credentials', ['policy', 'list'], 78, 'palisade login'],
    ['status without agent', ['status'], 1, 'it is not running; no machine is enrolled'],
    ['sync without agent', ['sync', '--json'], 1, 'it is not running; no machine is enrolled'],
  ])('answers %s with its exit code and a correction', async (_name, argv, code, message) => {
    const result = await runCli(argv)

    expect(result).toMatchObject({ code, out: '' })
    expect(result.err.toLowerCase()).toContain(message.toLowerCase())
    expect(result.err).toMatch(/(^|\n)error: [^\n]+\n$/)
    expect(result.err).not.toMatch(/\n\s+at /)
  })

  it('escapes parts of the command line in its messages', async () => {
    const result = await runCli(['check', 'connect:tcp', 'a\u001b[31m\u0000b'])

    expect(result.code).toBe(2)
    expect(result.err).toContain('a\\u001b[31m\\u0000b')
  })

  it('reports that the help could not be written', async () => {
    const result = await runCli(['--help'], { stdout: fullDisk() })

    expect(result.code).toBe(2)
    expect(result.err).toBe('error: cannot write the answer: no space left on the device\n')
  })

  it.each([
    [['check', 'read', '/x', '--policies', 'none.json'], 2],
    [['policy', 'list'], 78],
    [['--help'], 2],
  ])('keeps the exit code of %j when stderr is closed', async (argv, code) => {
    const stdout = fullDisk()

    expect(await runCli(argv, { stdout, stderr: fullDisk() })).toMatchObject({ code })
  })

  it('reports a defect with an id and exit 70, and its stack only with --debug', async () => {
    const env = new Proxy(
      {},
      {
        get: () => {
          throw new TypeError('never expected')
        },
      },
    )

    const plain = await runCli(['policy', 'list'], { env })
    const debug = await runCli(['policy', 'list', '--debug'], { env })

    expect(plain.code).toBe(70)
    expect(plain.err).toMatch(/^error: unexpected failure, report id [0-9a-f]{8}; add `--debug`/)
    expect(plain.err).not.toContain('never expected')
    expect(debug.err).toContain('TypeError: never expected')
    expect(debug.err).toMatch(/\n\s+at /)
  })
})

describe('help and version', () => {
  it.each([
    [['help'], /^Usage: palisade /],
    [['help', 'rule', 'add'], /^Usage: palisade rule add /],
    [['version'], /^\d+\.\d+\.\d+\n$/],
  ])('are verbs as well: %j', async (argv, out) => {
    expect(await runCli(argv)).toMatchObject({ code: 0, out: expect.stringMatching(out), err: '' })
  })
})
