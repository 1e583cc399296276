import { request } from 'node:http'

/**
 * Asks the agent's local API. Only names the rule behind an outcome that a program has shown.
 *
 * @param {string} socketPath
 * @param {{ action: string, host: string, port: number }} body
 * @returns {Promise<import('./programs.mjs').Judgement>}
 */
export function askAgent(socketPath, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', host: 'localhost' }
    const asked = request(
      { socketPath, path: '/v1/decide', method: 'POST', headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece
        })
        response.on('end', () => {
          try {
            resolve(JSON.parse(text))
          } catch (error) {
            reject(error)
          }
        })
      },
    )
    asked.on('error', reject)
    asked.end(JSON.stringify(body))
  })
}
