import { spawn } from 'node:child_process'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf } from '../../agent/fixture/bundle.ts'
import { startLocalApi } from '../../agent/fixture/local-api.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { runCli } from '../run-cli.ts'

describe('palisade decider srt with a command', () => {
  it('says which command cannot be started', async () => {
    const run = await runCli(['decider', 'srt', '--domain', 'a.test', '--', '/nonexistent/srt'], {
      cwd: '/',
    })

    expect(run).toMatchObject({
      code: 2,
      err: 'error: cannot start `/nonexistent/srt`: no such file or directory\n',
    })
  })

  it('ends with the status of the command', async () => {
    const script = ['--', process.execPath, '-e', 'process.exit(7)', '--']

    const run = await runCli(['decider', 'srt', '--domain', 'a.test', ...script], { cwd: '/' })

    expect(run.code).toBe(7)
  })

  it('forwards an allowed request and refuses another', async () => {
    const seen: string[] = []
    const upstreams = [0, 1].map(() =>
      createServer((incoming, response) => {
        seen.push(incoming.headers.host ?? '')
        response.end('from upstream')
      }),
    )
    const ports = await Promise.all(
      upstreams.map(async (server) => {
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        onTestFinished(() => void server.close())
        return (server.address() as AddressInfo).port
      }),
    )
    const [allowed = 0, denied = 0] = ports
    const api = await startLocalApi(bundleOf(['allow', 'connect:tcp', `127.0.0.1:${allowed}`]))
    const manifest = createRequire(import.meta.url).resolve(
      '@anthropic-ai/sandbox-runtime/package.json',
    )
    const domains = ports.flatMap((port) => ['--domain', `127.0.0.1:${port}`])
    const proxy = [process.execPath, join(dirname(manifest), 'dist/cli.js'), 'proxy']
    const child = spawn(
      process.execPath,
      [...BUILT_CLI, 'decider', 'srt', ...domains, '--', ...proxy, '--listen', '127.0.0.1:0'],
      { env: { PALISADE_AGENT_SOCKET: api.socketPath } },
    )
    onTestFinished(() => void child.kill())
    const proxyPort = await new Promise<number>((resolve) => {
      let told = ''
      child.stderr.on('data', (chunk: Buffer) => {
        told += chunk.toString()
        const port = /serving 127\.0\.0\.1:(\d+)/.exec(told)?.[1]
        if (port !== undefined) resolve(Number(port))
      })
    })
    const get = (port: number) =>
      new Promise<{ status: number; reason: unknown; body: string }>((resolve, reject) => {
        request(
          { host: '127.0.0.1', port: proxyPort, path: `http://127.0.0.1:${port}/` },
          (answer) => {
            const { statusCode: status = 0, headers } = answer
            const reason = headers['x-deny-reason']
            text(answer).then((body) => resolve({ status, reason, body }), reject)
          },
        )
          .setHeader('host', `127.0.0.1:${port}`)
          .on('error', reject)
          .end()
      })

    expect(await get(allowed)).toMatchObject({ status: 200, body: 'from upstream' })
    expect(await get(denied)).toMatchObject({
      status: 403,
      reason: 'decider',
      body: expect.stringContaining(`connect:tcp 127.0.0.1:${denied} denied`),
    })
    expect(seen).toEqual([`127.0.0.1:${allowed}`])
  })
})
