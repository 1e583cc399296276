import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { CANARY_ADDRESS, type CanaryPorts } from './canaries.ts'

/** The secret texts of one probe. Each is of a-z and 0-9. */
export interface CanaryTexts {
  /** The probe sends it to the allowed canary. */
  readonly allowed: string
  /** The probe sends it to the refused canary. */
  readonly refused: string
  /** The answer to `allowed`. */
  readonly answer: string
}

/** The end to which the allowed canary leads, and the refused one where it is not refused. */
export interface CanaryServer {
  readonly ports: CanaryPorts
  /** Whether the text for the refused canary arrived. */
  heardRefused(): boolean
  close(): void
}

/**
 * Answers over HTTP, where a text is the path, and over UDP. Any program can reach the open ports,
 * so other texts count for nothing and get no answer of the probe. Rejects with the error of the
 * system.
 */
export async function startCanaryServer(texts: CanaryTexts): Promise<CanaryServer> {
  let hasHeard = false
  const answerTo = (text: string): string | null => {
    if (text === texts.refused) hasHeard = true
    return text === texts.allowed ? texts.answer : null
  }

  const server = createServer((request, response) => {
    const answer = answerTo((request.url ?? '').slice(1))
    if (answer === null) response.writeHead(404)
    response.end(answer ?? '')
  })
  // Such as when no file descriptor is left: the probe then fails by the missing answer.
  server.on('error', () => {})
  const datagrams = createSocket('udp4').on('error', () => {})
  datagrams.on('message', (text, { address, port }) => {
    const answer = answerTo(text.toString('latin1'))
    if (answer !== null) datagrams.send(answer, port, address, () => {})
  })
  const close = (): void => {
    server.close()
    server.closeAllConnections()
    datagrams.close()
  }

  const listening = Promise.all([once(server, 'listening'), once(datagrams, 'listening')])
  server.listen(0, CANARY_ADDRESS)
  datagrams.bind(0, CANARY_ADDRESS)
  try {
    await listening
  } catch (error) {
    close()
    throw error
  }
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  return {
    ports: { 'connect:tcp': port, 'connect:udp': datagrams.address().port },
    heardRefused: () => hasHeard,
    close,
  }
}
