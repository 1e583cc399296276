import { describe, expect, it } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { startTerminal, writeScript } from './fixture/terminal.ts'
import { strictScene } from './staged/strict-scene.ts'

describe('palisade run at a terminal', () => {
  it('shows the command its terminal', async () => {
    const { agentDir, project } = await strictScene()
    const line = `cd ${project}; exec "$@"`
    const socket = `PALISADE_AGENT_SOCKET=${agentDir}/agent.sock`
    const run = [process.execPath, ...BUILT_CLI, 'run', '--', 'sh', '-c', 'test -t 1 && echo seen']
    const words = ['env', socket, `HOME=${project}/..`, 'sh', '-c', line, 'sh', ...run]
    const terminal = startTerminal(writeScript(agentDir, words))
    await terminal.shows('seen')
    expect(await terminal.ended).toBe(0)
  })

  it('asks before it copies out the changes of a strict sandbox', async () => {
    const { agentDir, at, project, sandboxes } = await strictScene()
    const line = `stty cols 200 rows 50; cd ${project}; exec "$@"`
    const socket = `PALISADE_AGENT_SOCKET=${agentDir}/agent.sock`
    const command = ['run', '--strict', '--', 'sh', '-c', 'echo x >new; exit 4']
    const run = [process.execPath, ...BUILT_CLI, ...command]
    const words = ['env', socket, `HOME=${project}/..`, 'sh', '-c', line, 'sh', ...run]
    const terminal = startTerminal(writeScript(agentDir, words))
    await terminal.shows(at('new'))
    await terminal.shows('granted')
    terminal.type('\r')
    await terminal.shows('copied out')
    expect(await terminal.ended).toBe(4)
    expect(await sandboxes.staged.list()).toEqual({ sessions: [] })
  })
})
