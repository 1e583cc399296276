import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { quoteShell } from '../../../../packages/cli/src/terminal/quote-shell.ts'
import { BUILT_CLI } from '../../../built-programs.ts'
import { hasProgram } from '../../clients/run-client.ts'
import { bundleClaims, policyOf } from '../../fixture/bundle.ts'
import { startSandboxMachine } from '../fixture/machine.ts'
import { startTerminal } from '../fixture/terminal.ts'

/** Starts a machine that opens its project. Returns the command of a shell in a sandbox there. */
async function prepareShell(): Promise<string> {
  const machine = await startSandboxMachine((project) =>
    bundleClaims({
      policies: [
        policyOf(
          ['allow', 'read', `${project}/**`, project],
          ['allow', 'write', `${project}/**`, project],
        ),
      ],
    }),
  )
  const { agentDir, project } = machine
  const own = [
    `PALISADE_AGENT_SOCKET=${join(agentDir, 'agent.sock')}`,
    `HOME=${join(agentDir, '..')}`,
  ]
  const run = [process.execPath, ...BUILT_CLI, 'run', '--workspace', project]
  const words = [...own, 'PS1=in> ', ...run, '--env', 'PS1', '--', 'bash', '--norc', '-i']
  return `env --chdir=${quoteShell(project)} ${words.map(quoteShell).join(' ')}`
}

describe.runIf(process.platform === 'linux')('an interactive shell in a sandbox', () => {
  it('has job control at a terminal, no way out, and the exit code of the shell', async () => {
    const terminal = startTerminal(await prepareShell())
    await terminal.shows('in> ')

    terminal.type('echo made >new; cat new; tty\n')
    await terminal.shows('made')
    await terminal.shows('/dev/')
    terminal.type(`sh -c 'echo read""y; exec sleep 1000'\n`)
    await terminal.shows('ready')
    terminal.type('\x1A')
    await terminal.shows('Stopped')
    terminal.type('kill %1; wait; cat </dev/tcp/192.0.2.9/22 || echo "no way"\n')
    await terminal.shows('no way')
    terminal.type('exit 7\n')

    expect(await terminal.ended).toBe(7)
  })

  it('runs in a window of tmux, and follows its size', async ({ skip }) => {
    skip(!hasProgram('tmux'), 'tmux is not installed')
    const tmux = startTmux(await prepareShell())
    await expect.poll(tmux.screen).toContain('in>')

    tmux.type('stty size')
    await expect.poll(tmux.screen).toContain('\n24 80')
    tmux.run('resize-window', '-x', '100', '-y', '30')
    tmux.type('stty size')
    await expect.poll(tmux.screen).toContain('\n30 100')
    tmux.type('tmux new-session -d || echo refused')

    await expect.poll(tmux.screen).toContain('\nrefused')
  })
})

/** A tmux of its own, with one window of 80 columns that runs the command. */
function startTmux(command: string) {
  const name = `palisade-${randomBytes(8).toString('hex')}`
  const run = (...words: readonly string[]): string =>
    execFileSync('tmux', ['-L', name, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', TERM: 'xterm' },
    })
  run('new-session', '-d', '-x', '80', '-y', '24', command)
  onTestFinished(() => {
    // It ends by itself with its last window.
    spawnSync('tmux', ['-L', name, 'kill-server'])
  })
  return {
    run,
    screen: (): string => run('capture-pane', '-p'),
    type: (line: string): void => {
      run('send-keys', line, 'Enter')
    },
  }
}
