import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testUsers } from '../fixture/bubblewrap.ts'
import { prepareSandbox, type TestSandbox } from '../fixture/launch.ts'

/** Sets the standard input so that reading it does not wait, as Node does. */
const UNWAITING = `perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_RDWR | O_NONBLOCK)'`

interface Standard {
  /** Opens each file before the command, as a shell does. */
  readonly files?: Readonly<Record<number, readonly [path: string, flags: string]>>
}

/** Runs a line of shell with files as standard descriptors. */
async function run(sandbox: TestSandbox, line: string, { files = {} }: Standard) {
  sandbox.openGate()
  const opened = Object.entries(files).map(([number, [path, flags]]) => ({
    number: Number(number),
    fd: openSync(path, flags),
  }))
  const stdio = ['ignore', 'pipe', 'pipe'] as ('ignore' | 'pipe' | number)[]
  for (const { number, fd } of opened) stdio[number] = fd
  const [program = '', ...args] = sandbox.words('sh', '-c', line)
  const child = spawn(program, args, { env: {}, stdio })
  opened.forEach(({ fd }) => closeSync(fd))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return { code: child.exitCode, output }
}

describe.runIf(process.platform === 'linux').each(testUsers())(
  'a file as standard descriptor, as %s',
  (user) => {
    async function scene(content = 'before\n') {
      const sandbox = await prepareSandbox(user)
      const file = join(sandbox.directory, 'file')
      writeFileSync(file, content)
      chmodSync(file, 0o666)
      return { sandbox, file, read: () => readFileSync(file, 'utf8') }
    }

    it.each([1, 2])('case 69: is written as %i, and neither read nor rewritten', async (number) => {
      const { sandbox, file, read } = await scene()
      const again = `/proc/self/fd/${number}`
      const line = `timeout 0.5 head -c 6 ${again} | grep -q before && echo seen >&${number}
        { printf X 1<>${again}; } 2>/dev/null; echo after >&${number}; exit 3`

      const { code } = await run(sandbox, line, { files: { [number]: [file, 'a'] } })

      expect(code).toBe(3)
      expect(read()).toMatch(/^before\n(?:X)?after\n$/)
    })

    it('case 69: is read as input, and not written', async () => {
      const { sandbox, file, read } = await scene('one\ntwo\n')
      const line = 'read -r first; echo "<$first>"; { echo X 1<>/proc/self/fd/0; } 2>/dev/null; cat'

      const { code, output } = await run(sandbox, line, { files: { 0: [file, 'r'] } })

      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('two\n') })
      expect(output).toMatch(/^<one>\n/)
      expect(read()).toBe('one\ntwo\n')
    })

    it('keeps the order of output and errors in one file', async () => {
      const { sandbox, file, read } = await scene('')
      const line = 'i=0; while [ $i -lt 200 ]; do echo $i; echo $((i + 1)) >&2; i=$((i + 2)); done'

      await run(sandbox, line, { files: { 1: [file, 'a'], 2: [file, 'a'] } })

      expect(read()).toBe([...Array(200).keys()].map((each) => `${each}\n`).join(''))
    })

    it('has all output when the command has ended, and the code of the command', async () => {
      const { sandbox, file, read } = await scene('')

      const { code } = await run(sandbox, 'head -c 3000000 /dev/zero; exit 7', {
        files: { 1: [file, 'w'] },
      })

      expect({ code, size: read().length }).toEqual({ code: 7, size: 3_000_000 })
    })

    it.each([
      ['1 after success', 'echo lost', 1],
      ['the code of a failure', 'echo lost; exit 3', 3],
    ])('that is full gives %s', async (_name, line, expected) => {
      const sandbox = await prepareSandbox(user)

      const { code, output } = await run(sandbox, line, { files: { 1: ['/dev/full', 'w'] } })

      expect(code).toBe(expected)
      expect(output).toBe('cat: write error: No space left on device\n')
    })

    it('may be input that the command does not read to its end', async () => {
      const { sandbox, file } = await scene('x'.repeat(1_000_000))

      expect(await run(sandbox, 'head -c 1', { files: { 0: [file, 'r'] } })).toEqual({
        code: 0,
        output: 'x',
      })
    })

    it.each([
      ['nothing', 'true', 'one\ntwo\nthree\n'],
      ['a line', 'head -c 4 | tr a-z A-Z', 'ONE\ntwo\nthree\n'],
      ['a line without waiting', `head -c 4 | tr a-z A-Z; ${UNWAITING}`, 'ONE\ntwo\nthree\n'],
      ['all', 'tr a-z A-Z', 'ONE\nTWO\nTHREE\n'],
      ['less than nothing', 'echo more 1<>/proc/self/fd/0', 'one\ntwo\nthree\n'],
    ])('is input that goes on where the command has read %s', async (_name, line, stdout) => {
      const { sandbox, file } = await scene('before\none\ntwo\nthree\n')
      const words = sandbox.words('sh', '-c', line)
      sandbox.openGate()

      const loop = 'exec <"$1"; shift; read -r first; "$@"; exec cat'
      const ended = spawnSync('sh', ['-c', loop, 'sh', file, ...words], { encoding: 'utf8' })

      expect(ended).toMatchObject({ status: 0, stdout, stderr: '' })
    })

    it('is input that counts as read when it is long', async () => {
      const { sandbox, file } = await scene()
      truncateSync(file, 16 * 1_048_576 + 1)
      const words = sandbox.words('head', '-c', '1')
      sandbox.openGate()

      const loop = '"$@" | wc -c; sleep 0.1; exec wc -c'
      const fd = openSync(file, 'r')
      const ended = spawnSync('sh', ['-c', loop, 'sh', ...words], { stdio: [fd, 'pipe', 'pipe'] })
      closeSync(fd)

      const [taken, rest] = String(ended.stdout).trim().split('\n').map(Number)
      expect(taken).toBe(1)
      expect(rest).toBeLessThan(16 * 1_048_576)
    })

    it('is read no more than its descriptor permits', async () => {
      const { sandbox, file } = await scene('secret')

      const { output } = await run(sandbox, 'cat', { files: { 0: [file, 'a'] } })

      expect(output).toBe('cat: -: Bad file descriptor\n')
    })

    it('may be all three', async () => {
      const { sandbox, file, read } = await scene('')
      const input = join(sandbox.directory, 'file-to-read')
      const errors = join(sandbox.directory, 'file-of-errors')
      writeFileSync(input, 'text')
      writeFileSync(errors, '')
      chmodSync(errors, 0o666)

      const { code } = await run(sandbox, 'cat; echo problem >&2; kill -TERM $$', {
        files: { 0: [input, 'r'], 1: [file, 'w'], 2: [errors, 'a'] },
      })

      expect([code, read(), readFileSync(errors, 'utf8')]).toEqual([143, 'text', 'problem\n'])
    })
  },
)
