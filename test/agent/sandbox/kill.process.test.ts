import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemErrorCode } from '../../../agent/src/host/errors.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import {
  enrolledMachine,
  runAgent,
  signNow,
  waitForState,
  type AgentRun,
} from '../fixture/agent-process.ts'
import { serve } from '../fixture/view-repository.ts'
import { endOf, type Ended } from './fixture/machine.ts'

/** Moments of a start, in milliseconds: the request, the launch, the mounts, the command. */
const MOMENTS = [0, 60, 120, 180, 240, 300, 400, 600]

interface Scene {
  readonly project: string
  readonly startAgent: () => Promise<AgentRun>
  /** Starts a command that says `ready` and lives until it is ended. */
  readonly start: () => { readonly child: ChildProcess; readonly ended: Promise<Ended> }
  /** Processes of such commands, with all around them. */
  readonly processes: () => number[]
  /** Such commands that run. */
  readonly commands: () => number
  /** Directories of launches. */
  readonly places: () => string[]
}

/** An agent of its own process, whose policy opens a project with a missing denied file. */
async function killScene(): Promise<Scene> {
  const machine = await enrolledMachine()
  const { dataDir, env, server, socketPath } = machine
  const home = dirname(dataDir)
  const project = join(home, 'project')
  mkdirSync(project)
  const open = [project, `${project}/**`] as const
  server.answer = serve(
    signNow(
      machine,
      1,
      ['allow', 'read', ...open],
      ['allow', 'write', ...open],
      ['deny', 'read', `${project}/.env`],
    ),
  )
  const mark = `kill-${randomBytes(6).toString('hex')}`
  const script = `echo ready; : ${mark}; while :; do sleep 0.1; done`
  return {
    project,
    async startAgent() {
      const agent = runAgent(['start'], env)
      await waitForState(socketPath, 'fresh')
      return agent
    },
    start() {
      const child = spawn(process.execPath, [...BUILT_CLI, 'run', '--', 'sh', '-c', script], {
        cwd: project,
        env: { PATH: process.env['PATH'], HOME: home, PALISADE_AGENT_SOCKET: socketPath },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      return { child, ended: endOf(child) }
    },
    processes: () => processesWith(mark),
    commands: () => processesWith(mark).filter((id) => argumentsOf(id).startsWith('sh\0')).length,
    places() {
      const directory = join(dataDir, 'agent', 'sandboxes')
      return existsSync(directory) ? readdirSync(directory) : []
    },
  }
}

/** Processes with the text among their arguments. */
function processesWith(text: string): number[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return ids.map(Number).filter((id) => argumentsOf(id).includes(text))
}

function argumentsOf(id: number): string {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return ''
  }
}

describe.runIf(process.platform === 'linux')('a sandbox', () => {
  it.each(MOMENTS)('ends when its agent is killed %i ms after the request', async (moment) => {
    const scene = await killScene()
    const agent = await scene.startAgent()
    const { ended } = scene.start()
    await delay(moment)

    agent.child.kill('SIGKILL')

    expect((await ended).code).not.toBe(0)
    await expect.poll(scene.processes).toEqual([])
    await scene.startAgent()
    expect(readdirSync(scene.project)).toEqual([])
    expect(scene.places()).toEqual([])
  })

  it.each(MOMENTS)('leaves nothing when it is killed %i ms after its start', async (moment) => {
    const scene = await killScene()
    await scene.startAgent()
    const { child, ended } = scene.start()
    await delay(moment)

    child.kill('SIGKILL')

    await ended
    await expect.poll(scene.processes).toEqual([])
    await expect.poll(() => readdirSync(scene.project)).toEqual([])
    await expect.poll(() => scene.places().length).toBeLessThanOrEqual(1)
  })

  it('waits while its agent is stopped, and goes on with it', async () => {
    const scene = await killScene()
    const agent = await scene.startAgent()
    const { child, ended } = scene.start()
    await expect.poll(scene.commands).toBe(1)

    agent.child.kill('SIGSTOP')
    const late = scene.start()
    await delay(500)
    expect([scene.commands(), late.child.exitCode]).toEqual([1, null])
    agent.child.kill('SIGCONT')

    await expect.poll(scene.commands).toBe(2)
    child.kill('SIGTERM')
    late.child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 143, stdout: 'ready\n' })
    expect(await late.ended).toMatchObject({ code: 143 })
  })

  it('ends with a sentence when its agent is told to stop', async () => {
    const scene = await killScene()
    const agent = await scene.startAgent()
    const { ended } = scene.start()
    await expect.poll(scene.commands).toBe(1)

    agent.child.kill('SIGTERM')

    expect(await ended).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('the agent stops') as string,
    })
    expect((await agent.ended).code).toBe(0)
    expect(readdirSync(scene.project)).toEqual([])
    expect(scene.places()).toEqual([])
  })
})
