import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testUsers } from '../fixture/bubblewrap.ts'
import { prepareSandbox, type TestSandbox } from '../fixture/launch.ts'

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

    it('may be input that the command does not read to its end', async () => {
      const { sandbox, file } = await scene('x'.repeat(1_000_000))

      expect(await run(sandbox, 'head -c 1', { files: { 0: [file, 'r'] } })).toEqual({
        code: 0,
        output: 'x',
      })
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
