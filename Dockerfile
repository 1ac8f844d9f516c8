# A node of troupe: `docker build -t troupe .`, then `docker run -e TROUPE_REDIS_URL=redis://… troupe`.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/node/package.json scripts/node/
# Without its workspace npm leaves out the Node of the repository: the image has one.
RUN npm ci --ignore-scripts --workspaces=false
COPY tsconfig.json tsconfig.build.json tsconfig.workers.json ./
COPY scripts scripts
COPY src src
COPY workers workers
RUN PATH="/app/node_modules/.bin:$PATH" node scripts/build.mjs

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/node/package.json scripts/node/
RUN npm ci --ignore-scripts --workspaces=false --omit=dev --omit=optional \
  && npm cache clean --force \
  && ln -s /app/dist/cli/main.js /usr/local/bin/troupe
COPY --from=build /app/dist dist
COPY workers workers
USER node
# A node that gets SIGTERM takes no new turns and finishes those it has.
STOPSIGNAL SIGTERM
ENTRYPOINT ["troupe"]
CMD ["node", "--workers", "/app/workers"]
