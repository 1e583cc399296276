import { createServer } from 'node:http'

/**
 * The baseline: a server that reads each body and answers with a text as long as a decision.
 * Arguments: path of the Unix socket.
 */
const ANSWER = `${JSON.stringify({ decision: 'allow', rules: ['x'.repeat(400)] })}\n`
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': ANSWER.length,
    })
    response.end(ANSWER)
  })
})
server.listen(process.argv[2])
