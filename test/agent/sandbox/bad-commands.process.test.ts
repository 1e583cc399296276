import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleClaims, policyOf, type RuleLine } from '../fixture/bundle.ts'
import { endOf, startSandboxMachine, type SandboxMachine, untilPrinted } from './fixture/machine.ts'

function machineOf(...denies: readonly RuleLine[]): Promise<SandboxMachine> {
  return startSandboxMachine((project) =>
    bundleClaims({
      policies: [
        policyOf(
          ['allow', 'read', `${project}/**`, project],
          ['allow', 'write', `${project}/**`, project],
          ...denies,
        ),
      ],
    }),
  )
}

/** A command line that no other process of the machine has: seconds for sleep(1). */
function rareSleep(): string {
  return `1000.${randomInt(1e9, 2e9)}`
}

function isAnyRunning(word: string): boolean {
  return readdirSync('/proc').some((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(`${word}\0`)
    } catch {
      return false
    }
  })
}

async function expectNothingLeft({ sandboxes, agentDir }: SandboxMachine): Promise<void> {
  await sandboxes.stop()
  expect([...sandboxes.all()]).toEqual([])
  expect(readdirSync(join(agentDir, 'sandboxes'))).toEqual([])
}

/** Starts a command that prints a line, and waits for the line. */
async function startReady(machine: SandboxMachine, script: string) {
  const child = machine.start(['--', 'bash', '-c', script])
  const ended = endOf(child)
  await untilPrinted(child)
  return { child, ended }
}

describe('a command that behaves badly', () => {
  it.each([
    ['a process of another session', (word: string) => `setsid sleep ${word} & sleep 0.2`],
    ['a process without descriptors', (word: string) => `sleep ${word} <&- >&- 2>&- & sleep 0.2`],
    [
      'processes that make others while they end',
      (word: string) =>
        // The shell waits for a process of before, as the others take every place.
        `f() { for n in 1 2 3; do (trap "" HUP TERM; f) & done; exec sleep ${word}; }; ` +
        'sleep 1 & waiting=$!; (f) 2>/dev/null & wait $waiting',
    ],
  ])('ends with %s', async (_title, script) => {
    const machine = await machineOf()
    const word = rareSleep()
    const words = ['--limit', 'processes=50', '--', 'bash', '-c', `${script(word)}; exit 3`]
    const { code, stderr } = await machine.run(words)
    expect(code, stderr).toBe(3)
    await expect.poll(() => isAnyRunning(word), { timeout: 30_000 }).toBe(false)
    await expectNothingLeft(machine)
  })

  it('ends with the agent though it ignores every signal', async () => {
    const machine = await machineOf()
    const word = rareSleep()
    const script = `trap "" HUP INT QUIT TERM USR1 USR2; echo ready; exec sleep ${word}`
    const { child, ended } = await startReady(machine, script)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) child.kill(signal)
    expect(isAnyRunning(word)).toBe(true)
    await expectNothingLeft(machine)
    expect((await ended).code).toBe(125)
    expect((await ended).stderr).toContain('palisade: the agent stops\n')
    expect(isAnyRunning(word)).toBe(false)
  })

  it('ends with the agent though it has closed its descriptors', async () => {
    const machine = await machineOf()
    const word = rareSleep()
    const { ended } = await startReady(machine, `echo ready; exec sleep ${word} <&- >&- 2>&-`)
    await expectNothingLeft(machine)
    expect((await ended).code).toBe(125)
    expect(isAnyRunning(word)).toBe(false)
  })

  it('fills its private directories, and the next sandbox has all of them again', async () => {
    const machine = await machineOf()
    const limits = ['--limit', 'tmp=1M', '--', 'sh', '-c']
    const fill = 'for d in /tmp /run ~ /dev/shm; do cat /dev/zero >$d/full; done 2>&1 | wc -l'
    expect((await machine.run([...limits, fill])).stdout).toBe('4\n')
    const write = 'echo x >/tmp/new && cat /tmp/new'
    expect((await machine.run([...limits, write])).stdout).toBe('x\n')
    await expectNothingLeft(machine)
  })

  it('is told of a command that does not exist, and leaves nothing behind', async () => {
    const machine = await machineOf()
    const ended = await machine.run(['--', 'no-such-command'])
    expect(ended.code).toBe(127)
    expect(ended.stderr).toContain('no-such-command')
    await expectNothingLeft(machine)
  })
})

describe('names in a workspace', () => {
  it('with a newline are seen as they are, and hidden where a rule denies them', async () => {
    const machine = await machineOf(['deny', 'read', '/**/*secret*'])
    await writeFile(join(machine.project, 'a\nb'), 'open')
    await writeFile(join(machine.project, 'a\nsecret'), 'SECRET')
    const { stdout } = await machine.run(['--', 'sh', '-c', 'cat "a\nb" "a\nsecret"; echo end'])
    expect(stdout).toBe('openend\n')
    await expectNothingLeft(machine)
  })

  it('that are not UTF-8 are seen where no rule may deny them', async () => {
    const machine = await machineOf()
    await writeFile(Buffer.concat([Buffer.from(`${machine.project}/`), Buffer.from([0xff])]), 'x')
    expect((await machine.run(['--', 'sh', '-c', 'cat *'])).stdout).toBe('x')
  })

  it('that are not UTF-8 end the start where a rule may deny them', async () => {
    const machine = await machineOf(['deny', 'read', '/**/*secret*'])
    const name = Buffer.from([...Buffer.from('secret'), 0xff])
    await writeFile(Buffer.concat([Buffer.from(`${machine.project}/`), name]), 'x')
    const ended = await machine.run(['--', 'sh', '-c', 'echo ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('UTF-8')
    await expectNothingLeft(machine)
  })
})
