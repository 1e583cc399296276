import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findFirstProcess } from '../../../../agent/src/sandbox/launch/find-first-process.ts'
import { testUsers } from '../fixture/bubblewrap.ts'
import { prepareSandbox } from '../fixture/launch.ts'

const readText = (path: string): Promise<string> => readFile(path, 'utf8')

describe.runIf(process.platform === 'linux').each(testUsers())(
  'the first process of a sandbox, as %s',
  (user) => {
    it('is found while it waits at the gate', async () => {
      const { sandbox, pid } = await start()

      await expect.poll(() => findFirstProcess(pid, readText)).not.toBeNull()
      const first = await findFirstProcess(pid, readText)

      const status = await readText(`/proc/${first}/status`)
      expect(status).toMatch(/^Name:\tbwrap$/m)
      // Its number in the host, in the namespace of the holder, and in its own.
      expect(status).toMatch(new RegExp(`^NSpid:\\t${first}\\t\\d+\\t1$`, 'm'))
      expect(sandbox.isRunning()).toBe(true)
    })

    it('is not found once its supervisor has been killed', async () => {
      const { sandbox, pid, kill } = await start()
      await expect.poll(() => findFirstProcess(pid, readText)).not.toBeNull()

      kill()

      await expect.poll(() => findFirstProcess(pid, readText)).toBeNull()
      expect(sandbox.isSupervised()).toBe(false)
    })

    it('ends with the holder, whenever its supervisor is killed', async () => {
      for (let delayMs = 0; delayMs < 24; delayMs += 2) {
        const { sandbox, pid, kill } = await start()
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        const first = await findFirstProcess(pid, readText)
        kill()
        if (first !== null) sandbox.openGate()
        await expect.poll(() => sandbox.isSupervised()).toBe(false)
        // As the agent does when it sees the end of the supervisor.
        sandbox.endHolder()
        await expect.poll(() => sandbox.isRunning()).toBe(false)
      }
    })

    /** A command that waits at its gate and would never end. */
    async function start() {
      const sandbox = await prepareSandbox(user)
      const [program = '', ...args] = sandbox.words('sleep', '1000')
      const child = spawn(program, args, { env: {}, stdio: 'ignore' })
      const kill = () => void child.kill('SIGKILL')
      onTestFinished(kill)
      await expect.poll(() => sandbox.isRunning()).toBe(true)
      return { sandbox, pid: child.pid ?? 0, kill }
    }
  },
)

describe('the first process', () => {
  it('is not there for a process that has no children or has ended', async () => {
    const ended = (): Promise<string> => Promise.reject(new Error('ENOENT'))

    expect(await findFirstProcess(1, ended)).toBeNull()
    expect(await findFirstProcess(1, () => Promise.resolve(''))).toBeNull()
  })

  it('is the child of the child of the child, the first of several', async () => {
    const children = new Map([
      ['/proc/1/task/1/children', '20 21 '],
      ['/proc/20/task/20/children', '300 '],
      ['/proc/300/task/300/children', '4000 4001 4002 '],
      ['/proc/4000/task/4000/children', '50000 '],
    ])

    const first = await findFirstProcess(1, (path) => Promise.resolve(children.get(path) ?? ''))

    expect(first).toBe(4000)
  })
})
