import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { endOf, untilPrinted } from '../sandbox/fixture/machine.ts'
import { startUserMachine } from '../sandbox/fixture/machine-process.ts'
import { attackBundle, NAMES, put } from '../sandbox/fixture/sandbox-attack.ts'

const SHELL = ['--', 'sh', '-c'] as const
const BARE = 'env -i PATH=/usr/bin:/bin'

/** Counts while it runs, where the test can read it. */
const COUNT =
  'echo 0 >count; echo ready; i=0; while :; do i=$((i + 1)); echo $i >count; sleep 0.05; done'

describe.each(testUsers())('the life of a sandbox of %s', (user) => {
  it('case 95: does not begin without a policy', async () => {
    const machine = await startUserMachine(user, { bundle: () => null })
    const ended = await machine.run([...SHELL, 'echo ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('no policy is in force')
  })

  it('case 102: ends with an agent that is killed', async () => {
    const machine = await startUserMachine(user, { bundle: (project) => attackBundle(project) })
    const child = machine.start([...SHELL, COUNT])
    const ended = endOf(child)
    await untilPrinted(child)
    machine.agent.kill('SIGKILL')
    expect((await ended).code).not.toBe(0)
    const count = (): string => readFileSync(join(machine.project, 'count'), 'utf8')
    const last = count()
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(count()).toBe(last)
    const after = await machine.run([...SHELL, 'echo ran'])
    expect(after).toMatchObject({ code: 125, stdout: '' })
  })

  it('case 102: connects nowhere while the agent is stopped', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) => attackBundle(project),
      names: NAMES,
    })
    const script =
      'echo ready; while [ ! -e go ]; do sleep 0.05; done; ' +
      `${BARE} curl -s -m 2 http://203.0.114.7/; ${BARE} curl -s -m 2 http://allowed.test/; ` +
      'curl -s -m 2 http://allowed.test/; curl -s -m 2 http://127.0.0.1:3130/v1/status; ' +
      'echo end; ' +
      `while [ ! -e more ]; do sleep 0.05; done; ${BARE} curl -s http://allowed.test/`
    const child = machine.start([...SHELL, script])
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part))
    const exited = once(child, 'exit')
    await expect.poll(() => text).toBe('ready\n')
    machine.agent.kill('SIGSTOP')
    put(machine, 'go', '')
    await expect.poll(() => text).toBe('ready\nend\n')
    machine.agent.kill('SIGCONT')
    put(machine, 'more', '')
    await exited
    await expect.poll(() => text).toBe('ready\nend\nyes')
  })
})
