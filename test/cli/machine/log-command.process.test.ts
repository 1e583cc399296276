import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { DENIAL, formatLines } from './log-records.ts'

describe('palisade log --follow', () => {
  /** An agent that answers with one record and then says no more. */
  async function startSilentAgent(): Promise<{ socketPath: string; open: Set<ServerResponse> }> {
    const directory = await temporaryDirectory()
    const socketPath = join(directory.path, 'agent.sock')
    const open = new Set<ServerResponse>()
    const server = createServer((_request, response) => {
      open.add(response)
      response.once('close', () => open.delete(response))
      response.write(formatLines(DENIAL))
    })
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    onTestFinished(async () => {
      server.close()
      server.closeAllConnections()
      await directory[Symbol.asyncDispose]()
    })
    return { socketPath, open }
  }

  it('prints records as they come, and ends without an error at Ctrl-C', async () => {
    const { socketPath, open } = await startSilentAgent()
    const child = spawn(process.execPath, [...BUILT_CLI, 'log', '--follow'], {
      env: { PALISADE_AGENT_SOCKET: socketPath },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let [out, err] = ['', '']
    child.stdout.on('data', (text: Buffer) => (out += text.toString()))
    child.stderr.on('data', (text: Buffer) => (err += text.toString()))
    await expect.poll(() => out, { timeout: 60_000 }).toContain('api.example.com')

    child.kill('SIGINT')

    expect(await once(child, 'close')).toEqual([0, null])
    expect(err).toBe('')
    await expect.poll(() => open.size).toBe(0)
  })
})
