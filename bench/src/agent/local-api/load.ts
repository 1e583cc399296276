import { Agent, request } from 'node:http'

/** Arguments: path of the Unix socket, body, media type, number of requests. */
const [, , socketPath = '', body = '', type = '', count = '0'] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) }

function ask(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const options = { socketPath, path: '/v1/decide', method: 'POST', agent, headers }
  const asked = request(options, (response) => {
    let bytes = 0
    response.on('data', (chunk: Buffer) => (bytes += chunk.length))
    response.once('end', () => {
      if (response.statusCode === 200) resolve(bytes)
      else reject(new Error(String(response.statusCode)))
    })
  })
  asked.once('error', reject)
  asked.end(body)
  return promise
}

async function askMany(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) await ask()
}

await askMany(Number(count) / 4)
const startedMs = performance.now()
await askMany(Number(count))
process.stdout.write(`${performance.now() - startedMs}\n`)
agent.destroy()
