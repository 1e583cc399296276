import { request } from 'node:http'
import type { Judgement } from './programs.ts'

/** Asks the agent's local API. Only names the rule behind an outcome that a program has shown. */
export function askAgent(
  socketPath: string,
  body: { action: string; host: string; port: number },
): Promise<Judgement> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', host: 'localhost' }
    const asked = request(
      { socketPath, path: '/v1/decide', method: 'POST', headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        response.on('end', () => {
          try {
            resolve(JSON.parse(text) as Judgement)
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
