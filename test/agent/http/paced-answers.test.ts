import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LoopTurns } from '../../../agent/src/http/loop-turns.ts'
import { paceAnswer, PacedAnswers } from '../../../agent/src/http/paced-answers.ts'
import { startTcpServer } from '../fixture/proxy.ts'

/** One piece in each turn of the loop. */
const slow: LoopTurns = { hasTime: () => false, later: (run) => void setImmediate(run) }

/** A server that answers each request on a connection with the next of `answers`, unchanged. */
async function startServer(answers: readonly string[]): Promise<{ port: number; sockets: number }> {
  const server = { port: 0, sockets: 0 }
  let answered = 0
  server.port = await startTcpServer((socket) => {
    server.sockets += 1
    socket.on('data', () => {
      socket.write(answers[answered] ?? '')
      answered += 1
    })
  })
  return server
}

function pacedAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agent.createConnection = (options) =>
    new PacedAnswers(connect({ port: Number(options.port), host: '127.0.0.1' }), slow)
  onTestFinished(() => agent.destroy())
  return agent
}

async function ask(port: number, agent: Agent, method = 'GET'): Promise<IncomingMessage> {
  const sent = request({ port, host: '127.0.0.1', agent, method })
  paceAnswer(sent)
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer
}

const ok = (body: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

describe('an answer', () => {
  it('in one-byte chunks arrives a few at a time, with other work in between', async () => {
    const count = 20_000
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    const { port } = await startServer([`${head}${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`])
    const answer = await ask(port, pacedAgent())
    let [all, inTurn, most] = [0, 0, 0]
    answer.on('data', () => {
      all += 1
      inTurn += 1
      if (inTurn === 1) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
    })
    await once(answer, 'end')

    expect(all).toBe(count)
    expect(most).toBeLessThan(200)
  })

  it('of known length arrives as it is read, whatever it contains', async () => {
    const body = '\r\n\r\n'.repeat(50_000)
    const { port } = await startServer([ok(body)])
    const answer = await ask(port, pacedAgent())
    let received = ''
    let pieces = 0
    answer.setEncoding('latin1').on('data', (bytes: string) => {
      received += bytes
      pieces += 1
    })
    await once(answer, 'end')

    expect(received).toBe(body)
    expect(pieces).toBeLessThan(100)
  })

  it('leaves the connection to the next request if it names a length but has no body', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n'
    const server = await startServer([head, ok('second')])
    const agent = pacedAgent()

    await text(await ask(server.port, agent, 'HEAD'))
    const second = await text(await ask(server.port, agent))

    expect(second).toBe('second')
    expect(server.sockets).toBe(1)
  })

  it('is not followed by an unrequested one', async () => {
    const server = await startServer([`${ok('first')}${ok('forged')}`, ok('second')])
    const agent = pacedAgent()

    const first = await text(await ask(server.port, agent))
    const second = await text(await ask(server.port, agent))

    expect([first, second]).toEqual(['first', 'second'])
    expect(server.sockets).toBe(2)
  })
})
