# The stowage image: dist/ and the packages it runs with. The same image plays the local cloud's parts in docker-compose.yml.
FROM node:20-bookworm-slim AS build
WORKDIR /stowage
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run -s build && npm prune --omit=dev --ignore-scripts

FROM node:20-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /stowage
ENV NODE_ENV=production
COPY --from=build /stowage/package.json /stowage/LICENSE ./
COPY --from=build /stowage/node_modules ./node_modules
COPY --from=build /stowage/bin ./bin
COPY --from=build /stowage/dist ./dist
COPY --from=build /stowage/workflows ./workflows
COPY --from=build /stowage/core ./core
COPY --from=build /stowage/disruption ./disruption
COPY --from=build /stowage/examples ./examples
USER node
ENTRYPOINT ["node", "bin/stowage"]
CMD ["run"]
